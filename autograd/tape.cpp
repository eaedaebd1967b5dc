#include "autograd/tape.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "autograd/tape_body.hpp"

namespace pencil {

namespace detail {

ThreadState& thread_state() {
  thread_local ThreadState state;
  return state;
}

std::int64_t steady_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

namespace {

// Serial numbers of the tapes alive in this process: what tells a foreign tensor from a dead tape's.
std::mutex live_lock;
std::vector<std::uint64_t> live;
std::uint64_t last_serial = 0;

std::uint64_t begin_life() {
  const std::lock_guard guard(live_lock);
  ++last_serial;
  while (static_cast<std::uint32_t>(last_serial + 1) <= 1)
    ++last_serial;  // the lower half is never 0 nor 2³² − 1
  live.push_back(last_serial);
  return last_serial;
}

void end_life(std::uint64_t serial) {
  const std::lock_guard guard(live_lock);
  live.erase(std::ranges::find(live, serial));
}

}  // namespace

bool alive(std::uint64_t serial) {
  const std::lock_guard guard(live_lock);
  return std::ranges::find(live, serial) != live.end();
}

bool tape_lives(std::uint32_t serial) {
  const std::lock_guard guard(live_lock);
  return std::ranges::any_of(live,
                             [&](std::uint64_t one) { return static_cast<std::uint32_t>(one) == serial; });
}

Arena::~Arena() {
  for (const Block& block : blocks_) pool::release(block.data, block.bytes);
}

void* Arena::allocate(std::size_t bytes) {
  constexpr std::size_t usual = std::size_t{64} << 10;
  bytes = (bytes + 15) / 16 * 16;
  if (blocks_.empty() || used_ + bytes > blocks_.back().bytes) {
    const std::size_t size = std::max(usual, bytes);
    blocks_.push_back({static_cast<std::byte*>(pool::allocate(size)), size});
    used_ = 0;
  }
  return blocks_.back().data + std::exchange(used_, used_ + bytes);
}

std::size_t Arena::bytes() const {
  std::size_t sum = 0;
  for (const Block& block : blocks_) sum += block.bytes;
  return sum;
}

std::size_t LeafMap::place(const Body* body) const {
  const std::size_t mask = entries_.size() - 1;
  std::size_t i = (reinterpret_cast<std::uintptr_t>(body) / 64 * 0x9e3779b97f4a7c15u >> 32) & mask;
  while (entries_[i].body && entries_[i].body != body) i = (i + 1) & mask;
  return i;
}

std::int32_t& LeafMap::operator[](const Body* body) {
  if (2 * (count_ + 1) > entries_.size()) {
    std::vector<Entry> before(std::max<std::size_t>(16, 2 * entries_.size()));
    before.swap(entries_);
    for (const Entry& entry : before)
      if (entry.body) entries_[place(entry.body)] = entry;
  }
  Entry& entry = entries_[place(body)];
  if (!entry.body) {
    entry.body = body;
    ++count_;
  }
  return entry.step;
}

std::int32_t LeafMap::find(const Body* body) const {
  return entries_.empty() ? -1 : entries_[place(body)].step;
}

TapeBody::~TapeBody() {
  for (int i = 0; i < size; ++i) {
    StepRecord& step = at(i);
    std::ranges::for_each(step.inputs, [](Slot& slot) { slot.~Slot(); });
    std::ranges::for_each(step.saved, [](Slot& slot) { slot.~Slot(); });
    step.~StepRecord();
  }
}

StepRecord& TapeBody::append_here(StepKind kind, Where where) {
  if (static_cast<std::size_t>(size) == chunks.size() * chunk)
    chunks.push_back(static_cast<StepRecord*>(arena.allocate(chunk * sizeof(StepRecord))));
  StepRecord& step = *::new (&at(size)) StepRecord();
  ++size;
  const ThreadState& state = thread_state();
  step.kind = kind;
  step.where = where;
  step.called = state.scope ? state.scope->called_ : where;
  step.role = state.role;
  step.gradient_of = gradient_of;
  const std::string_view path = Scope::path();
  if (paths[static_cast<std::size_t>(last_path)] != path) {
    const auto [found, is_new] =
        path_numbers.try_emplace(std::string(path), static_cast<std::int32_t>(paths.size()));
    if (is_new) paths.emplace_back(path);
    last_path = found->second;
  }
  step.path = last_path;
  return step;
}

std::int32_t TapeBody::find_step(const Tensor& x) const {
  const Body& body = *Body::of(x);
  return body.tape == serial ? body.step : leaves.find(&body);
}

std::int32_t TapeBody::step_for(const Tensor& x, Where where) {
  const Body& body = *Body::of(x);
  if (body.tape == serial) return body.step;
  if (body.number) return -1;
  std::int32_t& known = leaves[&body];
  if (known >= 0) return known;
  const StepKind kind = body.leaf                            ? StepKind::parameter
                        : body.tape != 0 && alive(body.tape) ? StepKind::foreign
                                                             : StepKind::constant;
  StepRecord& step = append(kind, where);
  step.output = x;
  step.dtype = x.dtype();
  step.needs = kind == StepKind::parameter && !body.leaf->frozen;
  return known = size - 1;
}

void TapeBody::record(const Op& op, Inputs inputs, const Attributes& attributes, Computed& result,
                      Where where) {
  const std::span<Slot> slots = arena.make<Slot>(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    slots[i] = {inputs[i], step_for(inputs[i], where), inputs[i].version()};
  const std::span<Slot> saved = arena.make<Slot>(result.saved.size());
  for (std::size_t i = 0; i < saved.size(); ++i)
    saved[i] = {std::move(result.saved[i]), -1, saved[i].tensor.defined() ? saved[i].tensor.version() : 0};

  StepRecord& step = append(StepKind::op, where);
  step.op = op;
  step.inputs = slots;
  step.saved = saved;
  step.attributes = attributes;
  if (*step.role == '\0') step.role = op.parts().role;
  if (op.differentiable())
    for (std::size_t i = 0; i < slots.size() && !step.needs; ++i)
      step.needs = differentiable(step, i) && at(slots[i].step).needs;

  // The step number lives in the output's body, so the body must be this step's alone.
  Body* body = Body::of(result.output);
  if (body->uses.load(std::memory_order_acquire) > 1 || body->tape != 0 || body->leaf || body->number) {
    result.output = with_shape(result.output, result.output.shape());
    body = Body::of(result.output);
  }
  body->tape = serial;
  body->step = size - 1;
  step.dtype = body->dtype;
  step.output = result.output;
}

void TapeBody::mark_paused(const Op& op, Inputs inputs, Tensor& output, Where where) {
  std::int32_t first = -1;
  for (const Tensor& input : inputs) {
    const std::int32_t from = input.is_parameter() ? step_for(input, where) : find_step(input);
    if (from < 0) continue;
    if (at(from).pause_mark < 0) {
      const std::span<Slot> slot = arena.make<Slot>(1);
      slot[0] = {input, from, input.version()};
      StepRecord& step = append(StepKind::paused, where);
      step.op = op;
      step.inputs = slot;
      step.dtype = output.dtype();
      const std::span<Shape> shape = arena.make<Shape>(1);
      shape[0] = output.shape();
      step.freed_shape = shape.data();
      at(from).pause_mark = size - 1;
    }
    if (first < 0) first = at(from).pause_mark;
  }
  if (first < 0) return;
  // What comes of a paused op is a constant that remembers the mark.
  if (Body::of(output)->uses.load(std::memory_order_acquire) > 1 || output.is_parameter())
    output = with_shape(output, output.shape());
  Body::of(output)->tape = serial;
  Body::of(output)->step = first;
}

StepTime& TapeBody::time_of(int number) {
  const auto i = static_cast<std::size_t>(number);
  if (times.size() <= i) times.resize(i + 1);
  return times[i];
}

void TapeBody::free(int number) {
  StepRecord& step = at(number);
  if (step.kind != StepKind::op) return;
  if (step.output.defined()) {
    const std::span<Shape> shape = arena.make<Shape>(1);
    shape[0] = step.output.shape();
    step.freed_shape = shape.data();
  }
  step.output = Tensor();
  step.gradient = Tensor();
  for (Slot& slot : step.inputs)
    if (slot.step >= 0) slot.tensor = Tensor();  // plain numbers cost nothing and stay readable
  for (Slot& slot : step.saved) slot.tensor = Tensor();
}

}  // namespace detail

using detail::thread_state;

Op::Op(std::string word, OpParts parts) {
  if (word.empty()) fail("[op] an op needs a word");
  if (!parts.forward) fail("[op] '{}' has no forward", word);
  body_ = std::make_shared<const Body>(Body{std::move(word), std::move(parts)});
}

Tensor apply(const Op& op, std::initializer_list<Located> inputs, const Attributes& attributes) {
  boost::container::small_vector<Tensor, 4> tensors(inputs.begin(), inputs.end());
  return apply(op, Inputs(tensors.data(), tensors.size()), attributes,
               inputs.size() ? inputs.begin()->where : Where{});
}

Tensor apply(const Op& op, Inputs inputs, const Attributes& attributes, Where where) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].defined())
      fail("[{}] input {} was never given a value (a default-made Tensor)", op.word(), i);
  Tape* tape = thread_state().quiet ? nullptr : thread_state().tape;
  detail::TapeBody* body = tape ? tape->body_.get() : nullptr;
  if (body && !body->paused && body->options.detail == Detail::steps && op.parts().composed) {
    const Scope parts("", where);
    const std::int32_t first = body->size;
    Tensor output = op.parts().composed(inputs, attributes);
    if (!output.defined()) fail("[{}] composed gave back no tensor", op.word());
    body->composed.push_back({first, body->size, body->find_step(output)});
    return output;
  }
  detail::Stopwatch watch(body);
  Computed result = [&] {
    const detail::Quiet quiet;
    return op.parts().forward(inputs, attributes);
  }();
  const std::optional<detail::Lap> lap = watch.stop();
  if (!result.output.defined()) fail("[{}] forward gave back no tensor", op.word());
  if (result.output.is_parameter())  // a value of its own, which no write to the parameter reaches
    result.output = with_shape(result.output, result.output.shape());
  if (body) {
    if (body->paused) {
      body->mark_paused(op, inputs, result.output, where);
    } else {
      const int first = body->size;
      body->record(op, inputs, attributes, result, where);
      if (lap) body->time_of(body->size - 1).forward = *lap;
      if (body->options.stop_on_nonfinite) body->guard_forward(first);
    }
  }
  return std::move(result.output);
}

Tape::Tape(TapeOptions options) : body_(std::make_unique<detail::TapeBody>()) {
  detail::ThreadState& state = thread_state();
  body_->options = options;
  body_->serial = detail::begin_life();
  body_->outer = std::exchange(state.tape, this);
  body_->quiet_before = std::exchange(state.quiet, false);
  body_->thread = &state;
  if (body_->outer && body_->outer->body_->statements) body_->outer->body_->statements->stop();
  if (options.time) body_->began = state.clock();
}

Tape::~Tape() {
  detail::end_life(body_->serial);
  if (body_->statements) body_->statements->stop();
  detail::ThreadState& state = thread_state();
  if (state.tape == this) {
    state.tape = body_->outer;
    state.quiet = body_->quiet_before;
    if (state.tape) state.tape->body_->resume_statements();
    return;
  }
  for (Tape* inner = state.tape; inner; inner = inner->body_->outer)  // ended out of order
    if (inner->body_->outer == this) {
      inner->body_->outer = body_->outer;
      inner->body_->quiet_before = body_->quiet_before;
      return;
    }
}

const detail::TapeBody& detail::body_of(const Tape& tape) { return *tape.body_; }

Tape* Tape::current() { return thread_state().tape; }
int Tape::size() const {
  if (body_->statements) body_->close_run();
  return body_->size;
}
const TapeOptions& Tape::options() const { return body_->options; }
int Tape::backward_from() const { return body_->backward_from; }
Where Tape::backward_where() const { return body_->backward_where; }

Step Tape::step(int number) const {
  if (number < 0 || number >= size()) fail("[tape] there is no step {}; this tape has {}", number, size());
  return {body_.get(), number};
}

int Tape::step_of(const Tensor& x) const { return x.defined() ? body_->find_step(x) : -1; }

Tape::Pause::Pause() : tape_(thread_state().tape) {
  if (!tape_) return;
  ++tape_->body_->paused;
  if (tape_->body_->statements) tape_->body_->statements->stop();
}

Tape::Pause::~Pause() {
  for (Tape* tape = thread_state().tape; tape; tape = tape->body_->outer)
    if (tape == tape_) --tape->body_->paused;
  if (tape_ && thread_state().tape == tape_) tape_->body_->resume_statements();
}

Role::Role(const char* role) : before_(std::exchange(thread_state().role, role)) {}
Role::~Role() { thread_state().role = before_; }

Scope::Scope(WholePath whole, Where where)
    : outer_(thread_state().scope), path_(whole.path), called_(outer_ ? outer_->called_ : where) {
  if (outer_ && path_.empty()) path_ = outer_->path_;
  thread_state().scope = this;
}

Scope::Scope(std::string_view name, Where where) : Scope(WholePath{name}, where) {
  if (outer_ && !outer_->path_.empty() && !name.empty()) path_ = fmt::format("{}.{}", outer_->path_, name);
}

Scope::~Scope() { thread_state().scope = outer_; }

std::string_view Scope::path() {
  const Scope* scope = thread_state().scope;
  return scope ? std::string_view(scope->path_) : std::string_view();
}

}  // namespace pencil
