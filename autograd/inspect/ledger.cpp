#include "autograd/inspect/ledger.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <queue>

#include "autograd/create.hpp"
#include "autograd/inspect/replay.hpp"
#include "autograd/inspect/scalar_uses.hpp"
#include "autograd/inspect/uses.hpp"
#include "autograd/tape_body.hpp"

namespace pencil {

namespace {

Tensor one_at(const Tensor& like, std::int64_t flat) {
  Tensor y = zeros(like.shape(), like.dtype());
  dispatch_float(y.dtype(), [&]<class T>(T) { y.writable<T>()[static_cast<std::size_t>(flat)] = 1; });
  return y;
}

// A leaf's name is its own: its path says only who read it first.
std::string name_of(const Step& step) {
  std::string text(step.kind() == StepKind::op || step.name().empty() ? step.path() : "");
  if (!step.name().empty()) text += fmt::format("{}{}", text.empty() ? "" : ": ", step.name());
  return text;
}

class Search {
 public:
  Search(const Tape& tape, const LedgerOptions& options)
      : tape_(tape), options_(options), uses_(tape), scalars_(tape), scalar_uses_(scalars_) {}

  Ledger run(int step, std::int64_t element) {
    const Step asked = tape_.step(step);
    found_.step = step;
    found_.glossary = options_.glossary;
    found_.index = index_text(asked.shape(), element);
    found_.word = word_of(asked, options_.glossary);
    found_.name = name_of(asked);
    found_.gradient = inspect::number_at(asked.gradient(), element);
    element_ = element;
    if (step == tape_.backward_from())
      found_.given = found_.gradient;
    else
      follow(-1);
    return finished();
  }

  Ledger run(std::size_t scalar) {
    const Step step = tape_.step(scalars_.step(scalar));
    found_.step = step.number();
    found_.glossary = options_.glossary;
    found_.word = word_of(step, options_.glossary);
    found_.name = scalars_.text(scalar);
    found_.gradient = scalars_.gradient(scalar);
    if (starts(scalar))
      found_.given = found_.gradient;
    else
      follow_scalar(-1, scalar);
    return finished();
  }

 private:
  Ledger finished() {
    while (!open_.empty() && static_cast<int>(found_.lines.size()) < options_.lines) {
      const Candidate best = open_.top();
      open_.pop();
      if (best.is_line())
        follow_line(best.parent);
      else if (best.statement >= 0)
        add_statement(best);
      else
        descend(best);
    }
    found_.complete = open_.empty() && found_.unasked.empty();
    found_.rest = found_.gradient - found_.given;
    for (const Ledger::Line& line : found_.lines)
      if (!line.followed) found_.rest -= line.contribution();
    return std::move(found_);
  }

  // A line that may be followed, a range of a reader's numbers that have no line yet, or a scalar statement.
  struct Candidate {
    double weight;
    std::int64_t order;
    int parent;  // the line
    Use use{-1, -1};
    std::int64_t low = 0, high = 0;
    std::int64_t statement = -1;

    bool is_line() const { return use.step < 0; }
    bool operator<(const Candidate& other) const {
      return weight != other.weight ? weight < other.weight : order > other.order;
    }
  };

  std::int64_t element_of(int parent) const {
    return parent < 0 ? element_ : found_.lines[static_cast<std::size_t>(parent)].element;
  }
  int step_of(int parent) const {
    return parent < 0 ? found_.step : found_.lines[static_cast<std::size_t>(parent)].step;
  }
  double way_to(int parent) const {
    if (parent < 0) return 1;
    const Ledger::Line& line = found_.lines[static_cast<std::size_t>(parent)];
    return line.way * line.local;
  }
  int depth_of(int parent) const { return parent < 0 ? 0 : depths_[static_cast<std::size_t>(parent)]; }

  void open(Candidate candidate, double amount, int depth) {
    if (amount == 0) return;
    // What is not finite comes first: it hides all else.
    candidate.weight = std::isfinite(amount) ? std::ldexp(std::abs(amount), -std::min(depth, 1000))
                                             : std::numeric_limits<double>::infinity();
    candidate.order = order_++;
    open_.push(candidate);
  }

  void follow_line(int parent) {
    const Ledger::Line& line = found_.lines[static_cast<std::size_t>(parent)];
    if (line.scalar)
      follow_scalar(parent, static_cast<std::size_t>(line.element));
    else
      follow(parent);
  }

  // The Scalars that a step of them took from a line's number.
  void follow_taken(int parent, int reader) {
    for (const std::size_t scalar : scalars_.taken(tape_.step(reader), step_of(parent), element_of(parent)))
      follow_scalar(parent, scalar);
  }

  // Whether `backward` started from this very Scalar.
  bool starts(std::size_t scalar) const {
    return scalars_.place(scalar) == detail::body_of(tape_).statements->swept_from;
  }

  // All that passes on gradient to a Scalar: statements, and tensors that it stands in.
  void follow_scalar(int parent, std::size_t scalar) {
    for (const inspect::ScalarUses::Use& use : scalar_uses_.of(scalar)) {
      const auto reader = static_cast<std::size_t>(use.statement);
      Candidate candidate{.weight = 0, .order = 0, .parent = parent, .use = {use.step, 0}};
      double amount = 0;
      if (use.statement >= 0) {
        if (!scalars_.reached(reader) || scalars_.gradient(reader) == 0) continue;
        candidate.use.input = static_cast<int>(use.operand);
        candidate.statement = use.statement;
        amount = local_of(candidate) * scalars_.gradient(reader);
      } else {
        const Tensor& dy = tape_.step(use.step).gradient();
        if (!dy.defined()) continue;
        candidate.low = use.operand;
        candidate.high = use.operand + 1;
        candidate.use.input = -1;
        amount = inspect::number_at(dy, use.operand);
      }
      open(candidate, amount * way_to(parent), depth_of(parent));
    }
  }

  double local_of(const Candidate& at) const {
    const auto record = scalars_.record(static_cast<std::size_t>(at.statement));
    return detail::slope_of(*record, static_cast<std::size_t>(at.use.input));
  }

  void add_statement(const Candidate& at) {
    const auto scalar = static_cast<std::size_t>(at.statement);
    Ledger::Line line = line_of(at, local_of(at), scalars_.gradient(scalar));
    line.element = at.statement;
    line.scalar = true;
    line.name = scalars_.text(scalar);
    add_line(at, std::move(line), !starts(scalar));
  }

  // All that passes on gradient to a line's number.
  void follow(int parent) {
    for (const Use& use : uses_.of(step_of(parent))) {
      const Step reader = tape_.step(use.step);
      if (reader.kind() == StepKind::scalars) follow_taken(parent, use.step);
      if (!inspect::brings_gradient(tape_, use)) continue;
      Candidate whole{
          .weight = 0, .order = 0, .parent = parent, .use = use, .high = reader.gradient().size()};
      try {
        const double amount = weigh(whole);
        open(whole, amount * way_to(parent), depth_of(parent));
      } catch (const std::exception& error) {
        found_.unasked.push_back({use.step, use.input, error.what()});
      }
    }
  }

  // What a reader passes on for a gradient of its output.
  double passed_on(const Candidate& at, const Tensor& dy) const {
    if (at.use.input < 0) return inspect::number_at(dy, at.low);  // a Scalar in a tensor
    const Tensor dx = inspect::rule_again(tape_.step(at.use.step), dy, at.use.input);
    return dx.defined() ? inspect::number_at(dx, element_of(at.parent)) : 0;
  }
  double weigh(const Candidate& range) const {
    return passed_on(range, inspect::scrambled(tape_.step(range.use.step).gradient(), range.low, range.high));
  }

  // Halves a range down to the number that passes on most, and puts it on a line.
  void descend(Candidate range) {
    const double way = way_to(range.parent);
    while (range.high - range.low > 1) {
      Candidate left = range, right = range;
      left.high = right.low = range.low + (range.high - range.low) / 2;
      double most = weigh(left), other = weigh(right);
      if (!(std::abs(most) >= std::abs(other)) && !std::isnan(most)) {
        std::swap(left, right);
        std::swap(most, other);
      }
      if (most == 0) return;
      open(right, other * way, depth_of(range.parent));
      range = left;
    }
    const Tensor& dy = tape_.step(range.use.step).gradient();
    Ledger::Line line =
        line_of(range, passed_on(range, one_at(dy, range.low)), inspect::number_at(dy, range.low));
    line.element = range.low;
    line.index = index_text(tape_.step(range.use.step).shape(), range.low);
    add_line(range, std::move(line), range.use.step != tape_.backward_from());
  }

  Ledger::Line line_of(const Candidate& at, double local, double blame) const {
    const Step step = tape_.step(at.use.step);
    return {.parent = at.parent,
            .step = at.use.step,
            .input = at.use.input,
            .element = 0,
            .index = "",
            .word = std::string(word_of(step, options_.glossary)),
            .name = name_of(step),
            .way = way_to(at.parent),
            .local = local,
            .blame = blame};
  }

  void add_line(const Candidate& at, Ledger::Line line, bool goes_on) {
    const auto number = static_cast<int>(found_.lines.size());
    if (line.contribution() == 0) return;
    if (at.parent >= 0) found_.lines[static_cast<std::size_t>(at.parent)].followed = true;
    depths_.push_back(depth_of(at.parent) + 1);
    if (goes_on) open({.weight = 0, .order = 0, .parent = number}, line.contribution(), depths_.back());
    found_.lines.push_back(std::move(line));
  }

  const Tape& tape_;
  const LedgerOptions& options_;
  Uses uses_;
  ScalarStatements scalars_;
  inspect::ScalarUses scalar_uses_;
  Ledger found_;
  std::int64_t element_ = 0;
  std::vector<int> depths_;  // of the lines, from 1
  std::priority_queue<Candidate> open_;
  std::int64_t order_ = 0;
};

std::int64_t checked_element(const Shape& shape, std::span<const std::int64_t> index) {
  if (index.size() != static_cast<std::size_t>(shape.rank()))
    fail("[ledger] the index has {} places; the tensor has shape {}", index.size(), shape);
  std::int64_t flat = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t at = index[static_cast<std::size_t>(axis)];
    if (at < 0 || at >= shape[axis])
      fail("[ledger] index {} of axis {} is out of range: the tensor has shape {}", at, axis, shape);
    flat = flat * shape[axis] + at;
  }
  return flat;
}

void check(const Tape& tape, const LedgerOptions& options) {
  if (options.lines < 1) fail("[ledger] {} lines were asked for; need at least 1", options.lines);
  if (tape.options().keep == Keep::leaves)
    fail("[ledger] this tape frees what it held as backward passes; a ledger needs one made with Keep::all");
}

}  // namespace

Ledger ledger(const Tape& tape, const Tensor& x, std::span<const std::int64_t> index,
              const LedgerOptions& options) {
  check(tape, options);
  (void)tape.grad(x);  // says why there is none
  return Search(tape, options).run(tape.step_of(x), checked_element(x.shape(), index));
}

Ledger ledger(const Tape& tape, const Scalar& x, const LedgerOptions& options) {
  check(tape, options);
  (void)x.grad();  // says why there is none
  const std::int64_t scalar = ScalarStatements(tape).find(x);
  if (scalar < 0) fail("[ledger] the Scalar {} is not on this tape", x.value());
  return Search(tape, options).run(static_cast<std::size_t>(scalar));
}

}  // namespace pencil
