#include "autograd/inspect/fold.hpp"

#include <unordered_map>

#include "autograd/inspect/likeness.hpp"

namespace pencil::inspect {

namespace {

// A line, or a repeat of lines, while the tape is being read.
struct Entry {
  Line line;
  std::uint64_t symbol = 0;     // equal for entries of like steps
  std::uint64_t body = 0;       // of a repeat: the hash of the lines in it …
  std::uint64_t last_line = 0;  // … and the symbol of the last of them
  std::vector<Entry> lines;     // of a repeat: the block as it was the last time
  int same_symbol = -1;         // the entry below with the same symbol
  int same_last_line = -1;      // of a repeat: the repeat below with the same last_line
};

// Finds repeats while lines are put on a stack. Whenever the lines on top of the stack are like the block of
// a repeat just below them, they become one more time of it; when they are like just as many lines below
// them, both become a repeat. Repeats are entries like any other, so repeats of repeats come of themselves.
// Hashes find the candidates, then the steps themselves are compared.
class Roll {
 public:
  Roll(const Tape& tape, std::span<const int> shown) : tape_(tape), shown_(shown) {}

  void add(const Line& line, std::uint64_t symbol) {
    Entry entry;
    entry.line = line;
    entry.symbol = symbol;
    push(std::move(entry));
    while (one_more_time() || repeat_begins()) {
    }
  }

  std::vector<Line> lines() const {
    std::vector<Line> lines;
    for (const Entry& entry : stack_) append(lines, entry, 0);
    return lines;
  }

 private:
  // So many candidates are tried for each line. A block is found as long as one of its lines has fewer likes
  // within it.
  static constexpr int tries = 32;

  int top() const { return static_cast<int>(stack_.size()) - 1; }
  const Entry& at(int i) const { return stack_[static_cast<std::size_t>(i)]; }

  void push(Entry entry) {
    const int place = top() + 1;
    entry.same_symbol = std::exchange(newest_.try_emplace(entry.symbol, -1).first->second, place);
    if (entry.line.kind == Line::repeat)
      entry.same_last_line =
          std::exchange(newest_repeat_.try_emplace(entry.last_line, -1).first->second, place);
    hashes_.push_back(hashes_.back() * base + entry.symbol);
    if (powers_.size() < hashes_.size()) powers_.push_back(powers_.back() * base);
    stack_.push_back(std::move(entry));
  }

  Entry pop() {
    Entry entry = std::move(stack_.back());
    stack_.pop_back();
    hashes_.pop_back();
    newest_[entry.symbol] = entry.same_symbol;
    if (entry.line.kind == Line::repeat) newest_repeat_[entry.last_line] = entry.same_last_line;
    return entry;
  }

  // The last `count` entries, which leave the stack.
  std::vector<Entry> pop(int count) {
    std::vector<Entry> entries(static_cast<std::size_t>(count));
    for (std::size_t i = entries.size(); i-- > 0;) entries[i] = pop();
    return entries;
  }

  // Of the entries first … last − 1.
  std::uint64_t hash(int first, int last) const {
    const auto a = static_cast<std::size_t>(first), b = static_cast<std::size_t>(last);
    return hashes_[b] - hashes_[a] * powers_[b - a];
  }

  bool one_more_time() {
    const auto found = newest_repeat_.find(at(top()).symbol);
    int candidate = found == newest_repeat_.end() ? -1 : found->second;
    for (int i = 0; i < tries && candidate >= 0; ++i, candidate = at(candidate).same_last_line) {
      const int count = top() - candidate;
      const Line& repeat = at(candidate).line;
      if (static_cast<int>(at(candidate).lines.size()) != count ||
          at(candidate).body != hash(candidate + 1, top() + 1))
        continue;
      const int steps = repeat.steps_each_time();
      if (at(top()).line.last - repeat.last != steps || !moves_on(at(top()).line.last, steps)) continue;
      std::vector<Entry> block = pop(count);
      Entry one_more = pop();
      one_more.line.last = block.back().line.last;
      ++one_more.line.times;
      one_more.lines = std::move(block);
      push_repeat(std::move(one_more));
      return true;
    }
    return false;
  }

  bool repeat_begins() {
    int candidate = at(top()).same_symbol;
    for (int i = 0; i < tries && candidate >= 0; ++i, candidate = at(candidate).same_symbol) {
      const int count = top() - candidate, first = candidate + 1 - count;
      if (first < 0) return false;
      const std::uint64_t block = hash(candidate + 1, top() + 1);
      if (hash(first, candidate + 1) != block) continue;
      const int last = at(top()).line.last, steps = last - at(candidate).line.last;
      if (at(candidate).line.last - at(first).line.first + 1 != steps) continue;
      int times = 0;
      if (keeps_place(last, steps))
        times = 2;
      else if (first >= count && hash(first - count, first) == block &&
               at(first - 1).line.last - at(first - count).line.first + 1 == steps && moves_on(last, steps))
        times = 3;
      if (times == 0) continue;
      Entry repeat;
      repeat.lines = pop(count);
      for (int k = 2; k < times; ++k) (void)pop(count);
      repeat.line = {
          .kind = Line::repeat, .first = pop(count).front().line.first, .last = last, .times = times};
      repeat.body = block;
      repeat.last_line = repeat.lines.back().symbol;
      push_repeat(std::move(repeat));
      return true;
    }
    return false;
  }

  void push_repeat(Entry repeat) {
    repeat.symbol = mixed(repeat.body, static_cast<std::uint64_t>(repeat.line.times));
    push(std::move(repeat));
  }

  Step step(int position) const { return tape_.step(shown_[static_cast<std::size_t>(position)]); }

  // The last steps up to a position are alike to as many before them, and each reads what lies as far back,
  // or the very same.
  bool keeps_place(int last, int steps) {
    return compare(last, steps, unlike_, [&](int position) {
      const Step now = step(position), before = step(position - steps);
      if (!alike(before, now)) return false;
      for (int i = 0; i < now.inputs(); ++i) {
        const int moved = now.input_step(i) - before.input_step(i);
        if (moved != 0 && moved != now.number() - before.number()) return false;
      }
      return now.gradient_of() < 0;
    });
  }

  // The last steps up to a position are alike to as many before them and these to as many before, and what
  // each reads moves on by the same number of steps both times.
  bool moves_on(int last, int steps) {
    return compare(last, steps, uneven_, [&](int position) {
      const Step now = step(position), before = step(position - steps), first = step(position - 2 * steps);
      if (!alike(before, now) || !alike(first, before)) return false;
      for (int i = 0; i < now.inputs(); ++i)
        if (now.input_step(i) - before.input_step(i) != before.input_step(i) - first.input_step(i))
          return false;
      return now.gradient_of() - before.gradient_of() == before.gradient_of() - first.gradient_of();
    });
  }

  // Where steps were found to differ from those so many before them.
  using Differences = std::unordered_map<int, int>;

  // Whether `fits` holds for the last `steps` positions up to `last`. A position where it does not is kept,
  // so that a block that contains it need not be looked at again: this keeps the whole linear.
  template <class Fits>
  static bool compare(int last, int steps, Differences& known, Fits fits) {
    const auto found = known.find(steps);
    if (found != known.end() && found->second > last - steps) return false;
    for (int position = last; position > last - steps; --position)
      if (!fits(position)) {
        known[steps] = position;
        return false;
      }
    return true;
  }

  // A repeat within a repeat has at most half its steps, so this goes no deeper than a number has bits.
  static void append(std::vector<Line>& lines, const Entry& entry, int level) {
    Line line = entry.line;
    line.level = level;
    if (line.kind == Line::repeat && entry.lines.size() == 1 && entry.lines[0].line.times == 1)
      line.kind = entry.lines[0].line.kind;
    const std::size_t place = lines.size();
    lines.push_back(line);
    if (line.kind != Line::repeat) return;
    for (const Entry& below : entry.lines) append(lines, below, level + 1);
    lines[place].below = static_cast<int>(lines.size() - place) - 1;
  }

  static constexpr std::uint64_t base = 0xd1342543de82ef95u;

  const Tape& tape_;
  std::span<const int> shown_;
  std::vector<Entry> stack_;
  std::vector<std::uint64_t> hashes_{0};  // of the first i entries
  std::vector<std::uint64_t> powers_{1};  // of base
  std::unordered_map<std::uint64_t, int> newest_, newest_repeat_;
  Differences unlike_, uneven_;
};

}  // namespace

std::string_view module_of(std::string_view path, int depth) {
  std::size_t end = 0;
  for (int part = 0; part < depth; ++part) {
    if (end >= path.size()) return {};
    end = std::min(path.find('.', end + (part > 0)), path.size());
  }
  return path.substr(0, end);
}

std::vector<Line> lines_of(const Tape& tape, std::span<const int> shown, int depth) {
  const int count = static_cast<int>(shown.size());
  const auto step = [&](int position) { return tape.step(shown[static_cast<std::size_t>(position)]); };
  if (depth == 0) {
    std::vector<Line> lines(shown.size());
    for (int i = 0; i < count; ++i)
      lines[static_cast<std::size_t>(i)].first = lines[static_cast<std::size_t>(i)].last = i;
    return lines;
  }
  // What a module gets from outside is not of the module, although it was the first to read it.
  const auto module_at = [&](int position) {
    const Step found = step(position);
    const bool given = found.kind() == StepKind::constant || found.kind() == StepKind::foreign;
    return given ? std::string_view() : module_of(found.path(), depth);
  };
  Roll roll(tape, shown);
  for (int first = 0, last = 0; first < count; first = last + 1) {
    const std::string_view module = module_at(first);
    std::uint64_t symbol = likeness(step(first));
    for (last = first; !module.empty() && last + 1 < count; ++last) {
      if (module_of(step(last + 1).path(), depth) != module) break;
      symbol = mixed(symbol, likeness(step(last + 1)));
    }
    roll.add({.kind = module.empty() ? Line::step : Line::module, .first = first, .last = last}, symbol);
  }
  return roll.lines();
}

}  // namespace pencil::inspect
