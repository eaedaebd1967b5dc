#include "autograd/inspect/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "autograd/inspect/report.hpp"
#include "autograd/inspect/statements.hpp"
#include "autograd/tape_body.hpp"

namespace pencil {

namespace {

using detail::Body;
using detail::Storage;

enum class What : std::uint8_t { value, saved, blame };
constexpr std::array<const char*, 3> names_of_what{"value", "saved", "blame"};

// One block of numbers, at the first step that holds it.
struct Block {
  const Storage* storage = nullptr;
  const Body* body = nullptr;  // the first tensor that was met with it
  int step = 0;
  What what = What::value;
  bool leaf = false;    // of a parameter, a constant or a plain number: it was there before the tape
  bool in_part = true;  // only steps hold it that Detail::fast would not have recorded
  // Where a sweep that frees, which counts down from the last step, still holds it.
  int first = 0, last = 0;
  std::uint32_t bodies = 0;   // tensors of the tape that share it
  std::uint32_t outside = 0;  // handles that are not the tape's

  std::int64_t bytes() const { return storage->bytes; }
};

class Count {
 public:
  explicit Count(const Tape& tape)
      : tape_(tape), size_(static_cast<std::size_t>(tape.size())), is_part_(size_), born_(size_, -1) {
    for (const auto& [first, end, output] : detail::body_of(tape).composed)
      for (std::int32_t i = first; i < end; ++i)
        if (i != output) is_part_[static_cast<std::size_t>(i)] = true;
    for (int i = 0; i < tape.size(); ++i)
      for (int k = 0; k < tape.step(i).inputs(); ++k)
        if (const int from = tape.step(i).input_step(k); from >= 0 && tape.step(i).reached())
          born_[static_cast<std::size_t>(from)] = i;
    for (int i = 0; i < tape.size(); ++i) read(tape.step(i));
    for (const auto& [body, handles] : handles_)
      blocks_[places_.at(body->storage)].outside += body->uses.load(std::memory_order_acquire) - handles;
    for (Block& block : blocks_)
      block.outside += block.storage->uses.load(std::memory_order_acquire) - block.bodies;
  }

  const std::vector<Block>& blocks() const { return blocks_; }
  int parts() const {
    int count = 0;
    for (int i = 0; i < tape_.size(); ++i)
      count += is_part_[static_cast<std::size_t>(i)] && tape_.step(i).kind() == StepKind::op;
    return count;
  }
  std::int64_t heads() const {
    return static_cast<std::int64_t>(handles_.size() * sizeof(Body) + blocks_.size() * sizeof(Storage));
  }

  // The most that a sweep which frees would hold at a time.
  std::int64_t peak_with_leaves() const {
    std::vector<std::int64_t> change(size_ + 2);  // of the bytes held, from each step to the one before
    for (const Block& block : blocks_) {
      const bool stays = block.leaf || block.outside > 0 || block.step > tape_.backward_from();
      change[static_cast<std::size_t>(block.last) + 1] -= block.bytes();
      change[stays ? 0 : static_cast<std::size_t>(block.first)] += block.bytes();
    }
    std::int64_t held = 0, most = 0;
    for (const std::int64_t by : change) most = std::max(most, held += by);
    return most;
  }

 private:
  // Counts all handles that a step has.
  void read(const Step& step) {
    const int i = step.number(), end = tape_.size();
    hold(step.raw_output(), i, What::value, step.is_leaf(), i, end);
    for (int k = 0; k < step.inputs(); ++k)
      if (step.input_step(k) < 0)
        hold(step.raw_input(k), i, What::value, true, i, end);  // a plain number
      else
        count_handle(step.raw_input(k));
    for (int k = 0; k < step.saved_count(); ++k) hold(step.raw_saved(k), i, What::saved, false, i, end);
    // A gradient begins to be where the last reader's rule gives it; that of a parameter stays.
    const int born = i == tape_.backward_from() ? end : born_[static_cast<std::size_t>(i)];
    hold(step.gradient(), i, What::blame, false, step.kind() == StepKind::parameter ? 0 : i, born);
  }

  void count_handle(const Tensor& x) {
    if (!x.defined()) return;
    const Body* body = Body::of(x);
    if (++handles_[body] > 1) return;
    if (const auto place = places_.find(body->storage); place != places_.end())
      ++blocks_[place->second].bodies;
  }

  void hold(const Tensor& x, int step, What what, bool leaf, int first, int last) {
    if (!x.defined()) return;
    const Body* body = Body::of(x);
    const auto [place, is_new] = places_.try_emplace(body->storage, blocks_.size());
    if (is_new)
      blocks_.push_back({.storage = body->storage,
                         .body = body,
                         .step = step,
                         .what = what,
                         .leaf = leaf,
                         .first = first,
                         .last = last});
    Block& block = blocks_[place->second];
    block.first = std::min(block.first, first);
    block.last = std::max(block.last, last);
    block.in_part = block.in_part && is_part_[static_cast<std::size_t>(step)];
    count_handle(x);
  }

  const Tape& tape_;
  std::size_t size_;
  std::vector<bool> is_part_;  // recorded in place of a fused op, and not its output
  std::vector<int> born_;      // the last step whose rule gives a step its gradient
  std::vector<Block> blocks_;  // in order of the first steps
  std::unordered_map<const Storage*, std::size_t> places_;
  std::unordered_map<const Body*, std::uint32_t> handles_;  // that the tape has
};

std::int64_t& part_of(StepBytes& bytes, What what) {
  return what == What::value ? bytes.values : what == What::saved ? bytes.saved : bytes.blame;
}

void add(StepBytes& to, const StepBytes& bytes) {
  to.values += bytes.values;
  to.saved += bytes.saved;
  to.blame += bytes.blame;
}

// The largest first, so many at most.
template <class Row>
void cut(std::vector<Row>& rows, int most, const auto& bytes_of) {
  std::ranges::stable_sort(rows, [&](const Row& a, const Row& b) { return bytes_of(a) > bytes_of(b); });
  if (rows.size() > static_cast<std::size_t>(most)) rows.resize(static_cast<std::size_t>(most));
}

std::int64_t bytes_of_records(const detail::TapeBody& tape) {
  return static_cast<std::int64_t>(
      tape.arena.bytes() + tape.leaves.bytes() + tape.chunks.capacity() * sizeof(tape.chunks[0]) +
      tape.times.capacity() * sizeof(tape.times[0]) + tape.composed.capacity() * sizeof(tape.composed[0]));
}

// Who else holds what the tape's ops made: not leaves, which were there before, nor a parameter's gradient
// that only the parameter holds.
std::vector<MemoryHeld> held_outside(const Tape& tape, const Count& count, const MemoryOptions& options) {
  std::vector<MemoryHeld> held;
  for (const Block& block : count.blocks()) {
    const Step step = tape.step(block.step);
    const bool gradient = block.what == What::blame && step.kind() == StepKind::parameter;
    const bool collected = gradient && step.raw_output().has_grad();
    if (block.leaf || block.outside <= (collected ? 1U : 0U)) continue;
    held.push_back({.step = block.step,
                    .word = std::string(word_of(step, options.glossary)),
                    .what = names_of_what[static_cast<std::size_t>(block.what)],
                    .name = gradient           ? std::string(step.name())
                            : block.body->name ? *block.body->name
                                               : "",
                    .handles = static_cast<int>(block.outside),
                    .bytes = block.bytes()});
  }
  return held;
}

}  // namespace

Memory memory(const Tape& tape, const MemoryOptions& options) {
  const Count count(tape);
  Memory memory;
  memory.steps.resize(static_cast<std::size_t>(tape.size()));
  for (const Block& block : count.blocks()) {
    part_of(memory.steps[static_cast<std::size_t>(block.step)], block.what) += block.bytes();
    if (tape.step(block.step).kind() == StepKind::parameter && block.what == What::value)
      memory.parameters += block.bytes();
    if (block.in_part) memory.parts_bytes += block.bytes();
  }
  const ScalarStatements scalars(tape);
  for (int i = 0; i < tape.size(); ++i)
    add(memory.steps[static_cast<std::size_t>(i)], scalars.bytes(tape.step(i)));
  memory.parts = count.parts();

  std::unordered_map<std::string_view, std::size_t> modules;
  for (int i = 0; i < tape.size(); ++i) {
    const Step step = tape.step(i);
    const StepBytes& bytes = memory.steps[static_cast<std::size_t>(i)];
    add(memory.bytes, bytes);
    const std::string_view path = inspect::path_head(step.path(), options.depth);
    const auto [module, is_new] = modules.try_emplace(path, memory.modules.size());
    if (is_new) memory.modules.push_back({.path = std::string(path), .steps = 0, .bytes = {}});
    ++memory.modules[module->second].steps;
    add(memory.modules[module->second].bytes, bytes);
    if (bytes.total() > 0)
      memory.largest.push_back({.step = i,
                                .word = std::string(word_of(step, options.glossary)),
                                .name = std::string(step.name().empty() ? step.path() : step.name()),
                                .bytes = bytes});
  }
  const auto total = [](const auto& row) { return row.bytes.total(); };
  cut(memory.modules, tape.size(), total);
  cut(memory.largest, options.most, total);
  memory.records = bytes_of_records(detail::body_of(tape)) + count.heads();

  const bool ran = tape.backward_from() >= 0, keeps = tape.options().keep == Keep::all;
  if (keeps || !ran) memory.peak = memory.bytes.total();  // nothing was ever freed
  if (keeps && ran) memory.peak_with_leaves = count.peak_with_leaves() + scalar_bytes(tape);

  memory.held = held_outside(tape, count, options);
  memory.held_tensors = static_cast<int>(memory.held.size());
  for (const MemoryHeld& held : memory.held) memory.held_bytes += held.bytes;
  cut(memory.held, options.most, [](const MemoryHeld& held) { return held.bytes; });
  return memory;
}

std::string to_string(const Memory& memory) {
  using inspect::bytes_text;
  using enum inspect::Side;
  const auto cells = [](std::vector<std::string> row, const StepBytes& bytes) {
    for (const std::int64_t part : {bytes.values, bytes.saved, bytes.blame, bytes.total()})
      row.push_back(bytes_text(part));
    return row;
  };
  std::string text =
      fmt::format("memory: {} in the numbers of {} steps, {} of it in parameters; {} beside them\n",
                  bytes_text(memory.bytes.total()), memory.steps.size(), bytes_text(memory.parameters),
                  bytes_text(memory.records));
  std::vector<std::vector<std::string>> rows{{"module", "steps", "values", "saved", "blame", "total"}};
  for (const MemoryModule& module : memory.modules)
    rows.push_back(
        cells({module.path.empty() ? "–" : module.path, fmt::format("{}", module.steps)}, module.bytes));
  rows.push_back(cells({"all", fmt::format("{}", memory.steps.size())}, memory.bytes));
  text += inspect::table_text({left, right, right, right, right, right}, rows);

  if (!memory.largest.empty()) {
    text += "the largest steps\n";
    rows = {{"#", "word", "name", "values", "saved", "blame", "total"}};
    for (const MemoryStep& step : memory.largest)
      rows.push_back(cells({fmt::format("{}", step.step), step.word, step.name}, step.bytes));
    text += inspect::table_text({right, left, left, right, right, right, right}, rows);
  }

  if (!memory.peak)
    text += "peak: unknown, as numbers were freed when backward passed; look before backward, or keep all\n";
  else if (!memory.peak_with_leaves)
    text += fmt::format("peak: {} so far; what Keep::leaves would save is known after backward\n",
                        bytes_text(*memory.peak));
  else
    text += fmt::format("peak: {}; with Keep::leaves {}, which saves {}\n", bytes_text(*memory.peak),
                        bytes_text(*memory.peak_with_leaves),
                        bytes_text(*memory.peak - *memory.peak_with_leaves));
  if (memory.parts > 0)
    text += fmt::format("Detail::fast would leave out {} steps, which saves at most {}\n", memory.parts,
                        bytes_text(memory.parts_bytes));

  if (memory.held_tensors == 0) return text + "nothing outside holds what its ops made\n";
  text +=
      fmt::format("held from outside, and so kept when the tape ends: {} in {} tensor{}\n",
                  bytes_text(memory.held_bytes), memory.held_tensors, memory.held_tensors == 1 ? "" : "s");
  rows = {{"#", "word", "name", "what", "handles", "bytes"}};
  for (const MemoryHeld& held : memory.held)
    rows.push_back({fmt::format("{}", held.step), held.word, held.name, held.what,
                    fmt::format("{}", held.handles), bytes_text(held.bytes)});
  return text + inspect::table_text({right, left, left, left, right, right}, rows);
}

}  // namespace pencil
