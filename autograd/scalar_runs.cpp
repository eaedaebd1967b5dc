// Scalar statements among a tape's steps.

#include <algorithm>
#include <unordered_set>

#include "autograd/create.hpp"
#include "autograd/tape_body.hpp"

namespace pencil::detail {

Statements::Statements(std::uint32_t serial) : home(&recorder) {
  constexpr std::uint64_t slack = 1024;  // words of the largest statement that is recorded unasked
  aside.words = stretch.words();
  aside.first = std::uint64_t{serial} << 32;
  aside.next = aside.first + first_place;
  aside.limit = aside.first + stretch.size() - slack;
  aside.words[0] = aside.words[1] = 0;
  resume();
}

Statements::~Statements() { stretch.used(static_cast<std::uint32_t>(aside.next)); }

void Statements::stop() {
  if (home->first != aside.first) return;
  aside = *home;
  *home = Recorder();
}

const Run& Statements::run_of(std::uint32_t place) const {
  return *std::ranges::upper_bound(runs, place, {}, &Run::end);
}

const Run* Statements::run_of_step(int step) const {
  const auto found = std::ranges::lower_bound(runs, step, {}, &Run::step);
  return found != runs.end() && found->step == step ? &*found : nullptr;
}

std::uint32_t Statements::end_before(int step) const {
  const auto after = std::ranges::upper_bound(runs, step, {}, &Run::step);
  return after == runs.begin() ? first_place : std::prev(after)->end;
}

const Block* Statements::block_of(std::uint32_t place) const {
  const auto found = std::ranges::upper_bound(blocks, place, {}, &Block::end);
  return found != blocks.end() && found->begin <= place ? &*found : nullptr;
}

bool Statements::is_constant(std::uint32_t place) const {
  return !block_of(place) && RecordView(words(), place).is_constant();
}

std::span<const Block> Statements::blocks_between(std::uint32_t begin, std::uint32_t end) const {
  const auto first = std::ranges::lower_bound(blocks, begin, {}, &Block::begin);
  return {first, std::ranges::lower_bound(first, blocks.end(), end, {}, &Block::begin)};
}

std::string Statements::name_of(std::uint32_t place) const {
  if (const auto own = names.find(place); own != names.end()) return own->second;
  const Block* const block = block_of(place);
  if (!block || block->name.empty()) return "";
  return fmt::format("{}[{}]", block->name, (place - block->begin) / 2);
}

std::string Statements::label_of(std::uint32_t place) const {
  if (std::string name = name_of(place); !name.empty()) return name;
  std::uint32_t before = 0;
  each_scalar_back(words(), first_place, end(), [&](std::uint32_t other) { before += other < place; });
  return fmt::format("s{}", before);
}

Statements* recording_statements() {
  const ThreadState& state = thread_state();
  if (!state.tape || state.quiet) return nullptr;
  TapeBody& body = TapeBody::of(*state.tape);
  if (body.paused > 0) return nullptr;
  if (!body.statements)
    body.statements = std::make_unique<Statements>(static_cast<std::uint32_t>(body.serial));
  return body.statements.get();
}

Statements* find_statements(std::uint32_t serial) {
  for (Tape* tape = thread_state().tape; tape; tape = TapeBody::of(*tape).outer) {
    TapeBody& body = TapeBody::of(*tape);
    if (static_cast<std::uint32_t>(body.serial) == serial) return body.statements.get();
  }
  return nullptr;
}

bool meet(std::uint64_t tag) {
  if (on_current_tape(tag)) return true;
  if (Tape* const tape = thread_state().tape) TapeBody::of(*tape).mark_paused(tag);
  return false;
}

void TapeBody::mark_paused(std::uint64_t tag) {
  static const Op statement{"scalars",
                            {.forward = [](Inputs in, const Attributes&) { return Computed(in[0]); }}};
  if (paused == 0 || !statements || !statements->has(tag)) return;
  close_run();
  const std::int32_t from = statements->run_of(static_cast<std::uint32_t>(tag)).step;
  if (at(from).pause_mark >= 0) return;
  const std::span<Slot> slot = arena.make<Slot>(1);
  slot[0].step = from;
  StepRecord& step = append_here(StepKind::paused, Where{});
  step.op = statement;
  step.inputs = slot;
  step.dtype = f64;
  static const Shape no_shape;
  step.freed_shape = &no_shape;
  at(from).pause_mark = size - 1;
}

// The steps outside a run that its statements from word `from` on read from: earlier runs, and the tensors
// that its leaves were taken from.
void TapeBody::read_outside(const Run& run, std::uint32_t from) {
  StepRecord& step = at(run.step);
  std::unordered_set<std::int32_t> found;
  for (const Slot& slot : step.inputs) found.insert(slot.step);
  std::int32_t last = -1;
  const auto note = [&](std::int32_t number) {
    if (number >= 0 && number != last) found.insert(last = number);
  };
  for (const Block& block : statements->blocks_between(from, run.end)) note(block.step);
  if (statements->runs.size() > 1) {
    for (const std::uint32_t place : run.stacked)
      if (place > 0 && place < run.begin) note(statements->run_of(place).step);
    for (std::uint32_t end = run.end; end > from;) {
      const RecordView record(statements->words(), end - 2);
      for (const std::uint32_t source : record.sources)
        if (source < run.begin) note(statements->run_of(source).step);
      end = record.begin;
    }
  }
  if (found.size() == step.inputs.size()) return;
  std::vector<std::int32_t> outside(found.begin(), found.end());
  std::ranges::sort(outside);
  const std::span<Slot> slots = arena.make<Slot>(outside.size());
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const StepRecord& input = at(outside[i]);
    slots[i].step = outside[i];
    if (input.kind == StepKind::scalars) continue;  // no tensor: its Scalars were read one by one
    slots[i].tensor = input.output;
    slots[i].version = input.output.defined() ? input.output.version() : 0;
  }
  for (Slot& slot : step.inputs) slot.tensor = Tensor();  // the arena calls no destructors
  step.inputs = slots;
}

void TapeBody::close_run() {
  std::vector<Run>& runs = statements->runs;
  const std::uint32_t end = statements->end();
  const std::uint32_t begin = runs.empty() ? Statements::first_place : runs.back().end;
  if (begin == end) return;
  const bool goes_on = !runs.empty() && runs.back().step == size - 1 && !at(size - 1).output.defined();
  if (!goes_on) {
    static const Shape no_shape;
    StepRecord& step = append_here(StepKind::scalars, Where{});
    step.called = Where{};
    step.role = "";
    step.path = 0;
    step.dtype = f64;
    step.needs = true;
    step.freed_shape = &no_shape;
    runs.push_back({begin, end, size - 1, {}});
  }
  runs.back().end = end;
  read_outside(runs.back(), begin);
}

Tensor TapeBody::stacked(std::span<const Scalar> x, Where where) {
  Tensor output = empty({static_cast<std::int64_t>(x.size())}, f64);
  std::ranges::transform(x, output.writable<double>().begin(), &Scalar::value);
  close_run();
  std::vector<Run>& runs = statements->runs;
  const bool fits = !runs.empty() && runs.back().step == size - 1 && !at(size - 1).output.defined();
  if (!fits) {  // no statement since the last step: a run of none
    append_here(StepKind::scalars, where);
    runs.push_back({statements->end(), statements->end(), size - 1, {}});
  }
  StepRecord& step = at(size - 1);
  step.where = where;
  step.called = where;
  step.dtype = f64;
  step.needs = true;
  step.output = output;
  Body::of(output)->tape = serial;
  Body::of(output)->step = size - 1;
  for (const Scalar& one : x)
    runs.back().stacked.push_back(statements->has(one.tag()) ? static_cast<std::uint32_t>(one.tag()) : 0);
  read_outside(runs.back(), runs.back().end);
  guard_statements();
  return output;
}

void TapeBody::sweep_run(const Run& run, std::uint32_t from, const Tensor& dy,
                         const std::function<void(int step, const Tensor& gradient)>& give) {
  double* const words = statements->words();
  if (dy.defined()) {
    const std::span<const double> gradients = dy.values<double>();
    for (std::size_t i = 0; i < gradients.size(); ++i)
      if (run.stacked[i] > 0) words[run.stacked[i] + 1] += gradients[i];
  }
  if (run.end > run.begin) {
    sweep_records(words, from, run.begin);
    if (options.stop_on_nonfinite) guard_sweep(run, from);
  }
  each_given(run, give);
}

void TapeBody::each_given(const Run& run,
                          const std::function<void(int step, const Tensor& gradient)>& give) const {
  const double* const words = statements->words();
  for (const Block& block : statements->blocks_between(run.begin, run.end)) {
    if (block.step < 0) continue;
    const StepRecord& step = at(block.step);
    Tensor gradient = empty(step.output.defined() ? step.output.shape() : *step.freed_shape, f64);
    double* to = gradient.writable<double>().data();
    for (std::uint32_t word = block.begin; word < block.end; word += 2) *to++ = words[word + 1];
    give(block.step, gradient);
  }
}

Tensor stacked(std::span<const Scalar> x, Where where) {
  bool any = false;
  for (const Scalar& one : x) any |= meet(one.tag());
  if (any) return TapeBody::of(*thread_state().tape).stacked(x, where);
  Tensor output = empty({static_cast<std::int64_t>(x.size())}, f64);
  std::ranges::transform(x, output.writable<double>().begin(), &Scalar::value);
  return output;
}

// x is f64.
std::vector<Scalar> unstacked(const Tensor& x, Where where) {
  const Statements* const statements = recording_statements();
  const std::int32_t step = statements ? TapeBody::of(*thread_state().tape).step_for(x, where) : -1;
  const std::span<const double> numbers = x.values<double>();
  if (step < 0) return {numbers.begin(), numbers.end()};
  return scalar_block(numbers, x.name(), step);
}

}  // namespace pencil::detail
