#pragma once

// What a Tape is inside; only tape.cpp, sweep.cpp, step.cpp, scalar*.cpp, statements.cpp and
// inspect/replay.cpp include this.

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "autograd/nonfinite.hpp"
#include "autograd/pool.hpp"
#include "autograd/scalar.hpp"
#include "autograd/scalar_body.hpp"
#include "autograd/tape.hpp"

namespace pencil::detail {

/// A tensor that a step read, the step that made it (−1: a plain number) and the version that was read.
struct Slot {
  Tensor tensor;
  std::int32_t step = -1;
  std::uint32_t version = 0;
};

struct StepRecord {
  Op op;  // no op for leaves
  Tensor output;
  Tensor gradient;
  std::span<Slot> inputs;
  std::span<Slot> saved;
  Attributes attributes;
  const Shape* freed_shape = nullptr;  // set once the output is freed
  const char* role = "";
  Where where;
  Where called;
  std::int32_t path = 0;
  std::int32_t gradient_of = -1;
  std::int32_t pause_mark = -1;  // the step that marks the first paused op on this one's output
  StepKind kind = StepKind::op;
  DType dtype = f32;
  bool needs = false;    // a parameter's gradient can pass
  bool reached = false;  // backward brought a gradient
};

/// A stretch of time in nanoseconds, which began so many after the tape was made; −1: not measured.
struct Lap {
  std::int64_t begin = -1;
  std::int64_t length = -1;
};

/// What TapeOptions::time measures of a step.
struct StepTime {
  Lap forward;
  Lap backward;
};

/// Memory for a tape's steps and slots: handed out in order, taken back all at once.
class Arena {
 public:
  ~Arena();
  void* allocate(std::size_t bytes);
  /// All bytes it has, handed out or not.
  std::size_t bytes() const;
  template <class T>
  std::span<T> make(std::size_t count) {
    T* first = static_cast<T*>(allocate(count * sizeof(T)));
    for (std::size_t i = 0; i < count; ++i) ::new (first + i) T();
    return {first, count};
  }

 private:
  struct Block {
    std::byte* data;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
  std::size_t used_ = 0;  // of the last block
};

/// Which step stands for a parameter or a constant: open addressing over the tensors' bodies, which the steps
/// keep alive.
class LeafMap {
 public:
  std::size_t bytes() const { return entries_.capacity() * sizeof(Entry); }
  /// The step of a body, or a reference to −1 to be set.
  std::int32_t& operator[](const Body* body);
  std::int32_t find(const Body* body) const;

 private:
  struct Entry {
    const Body* body = nullptr;
    std::int32_t step = -1;
  };
  std::size_t place(const Body* body) const;
  std::vector<Entry> entries_;
  std::size_t count_ = 0;
};

/// The steps that an op's `composed` recorded under Detail::steps in its place: first … end − 1, of which
/// `output` made the result (a step before `first` where composed handed on what it was given).
struct Composed {
  std::int32_t first, end, output;
};

struct TapeBody {
  static constexpr std::size_t chunk = 256;

  TapeOptions options;
  std::uint64_t serial = 0;
  int size = 0;
  int paused = 0;
  int gradient_of = -1;  // set while a recorded sweep runs a rule
  int backward_from = -1;
  Where backward_where;
  Tape* outer = nullptr;
  bool quiet_before = false;
  const void* thread = nullptr;

  Arena arena;
  std::vector<StepRecord*> chunks;  // of memory; the records in it are made as steps are
  LeafMap leaves;
  std::vector<std::string> paths{""};
  std::unordered_map<std::string, std::int32_t> path_numbers{{"", 0}};
  std::int32_t last_path = 0;

  std::shared_ptr<const NonFinite> nonfinite;  // what options.stop_on_nonfinite stopped at

  std::vector<Composed> composed;  // with Detail::steps, inner ones before those around them

  std::int64_t began = 0;       // with options.time: the clock when the tape was made, and
  std::vector<StepTime> times;  // by step, as far as any was measured

  std::unique_ptr<Statements> statements;  // once there are Scalars

  ~TapeBody();
  static TapeBody& of(const Tape& tape) { return *tape.body_; }

  StepRecord& at(int number) {
    const auto i = static_cast<std::size_t>(number);
    return chunks[i / chunk][i % chunk];
  }
  const StepRecord& at(int number) const { return const_cast<TapeBody*>(this)->at(number); }

  /// A new step with kind, line, scope and role set; scalar statements before it get their step first.
  StepRecord& append(StepKind kind, Where where) {
    if (statements) close_run();
    return append_here(kind, where);
  }
  /// Lets Scalars be recorded on, on the innermost tape, unless it is paused.
  void resume_statements() {
    if (statements && paused == 0) statements->resume();
  }
  /// Lets a step stand for the scalar statements that none stands for yet: a new one, or the last, if it is
  /// a run.
  void close_run();
  /// A step whose output is the values of Scalars of this tape, and in which the statements before it end.
  Tensor stacked(std::span<const Scalar> x, Where where);
  /// Sweeps the statements of a run from a place back, dy having reached its output, and gives what comes of
  /// it to the steps that its Scalars were taken from.
  void sweep_run(const Run& run, std::uint32_t from, const Tensor& dy,
                 const std::function<void(int step, const Tensor& gradient)>& give);
  /// The step a tensor comes from; leaves get theirs at first use. −1 for a plain number.
  std::int32_t step_for(const Tensor& x, Where where);
  /// The same without making one: −1 if there is none.
  std::int32_t find_step(const Tensor& x) const;
  void record(const Op& op, Inputs inputs, const Attributes& attributes, Computed& result, Where where);
  void mark_paused(const Op& op, Inputs inputs, Tensor& output, Where where);
  /// The mark that a Scalar of this tape was met while it is paused, the first of its run.
  void mark_paused(std::uint64_t tag);
  /// With options.stop_on_nonfinite: throws Error where a step from `first` on made what is not finite; where
  /// a sweep starts from it; where a rule, or the sum of two gradients of a step, made it.
  void guard_forward(int first);
  void guard_start(int number, const Tensor& upstream);
  void guard_rule(int number, const Tensor& dy, Needs needs, const Gradients& given);
  void guard_sum(int number, const Tensor& a, const Tensor& b, const Tensor& sum);
  /// The same of scalar statements: those recorded since the last look, and those of a run that a sweep has
  /// passed through.
  void guard_statements();
  void guard_sweep(const Run& run, std::uint32_t from);
  /// The first Scalar in words [begin, end) that holds what is not finite and is no fault of its operands;
  /// runs must be closed. A leaf's infinity counts.
  std::optional<NonFinite> nonfinite_statement(std::uint32_t begin, std::uint32_t end) const;
  /// The first statement of a run, in the order of a sweep from a place back, whose slope made a gradient
  /// that is not finite; else a Scalar whose gradients add up to one.
  std::optional<NonFinite> nonfinite_slope(const Run& run, std::uint32_t from) const;
  /// The times of a step, to be set.
  StepTime& time_of(int number);
  /// Frees values, saved tensors and gradient of an op's step; leaves keep theirs, and plain numbers stay.
  void free(int number);
  /// Whether input i of a step can take a gradient, as far as the op and the dtype go.
  static bool differentiable(const StepRecord& step, std::size_t i) {
    return step.inputs[i].step >= 0 && is_float(step.inputs[i].tensor.dtype()) &&
           !(i < 64 && step.op.parts().constant[i]);
  }
  /// The gradients of a run's leaves that were taken from tensors.
  void each_given(const Run& run, const std::function<void(int step, const Tensor& gradient)>& give) const;

 private:
  StepRecord& append_here(StepKind kind, Where where);
  void read_outside(const Run& run, std::uint32_t from);
};

/// Whether a tape with these lower 32 bits in its serial number is alive in this process.
bool tape_lives(std::uint32_t serial);
/// What is recorded of a tape of this thread, by those bits; null if there is none.
Statements* find_statements(std::uint32_t serial);
/// Where Scalars are recorded now: null without a tape, when it is paused, and in an op's forward or rule.
Statements* recording_statements();
/// New leaves, or constants where nothing is recorded; `step`: whose numbers they are, or −1.
std::vector<Scalar> scalar_block(std::span<const double> values, std::string_view name, int step);

/// Nanoseconds on the clock that never goes back.
std::int64_t steady_clock();

/// This thread's state: the innermost tape, the innermost scope, the role, and whether ops record at all.
struct ThreadState {
  Tape* tape = nullptr;
  Scope* scope = nullptr;
  const char* role = "";
  bool quiet = false;
  std::int64_t (*clock)() = steady_clock;  // tests put one of their own here
};
ThreadState& thread_state();

/// Measures from where it is made to `stop`; reads the clock only where the tape asks for times.
class Stopwatch {
 public:
  explicit Stopwatch(const TapeBody* tape) : tape_(tape && tape->options.time ? tape : nullptr) {
    if (tape_) lap_.begin = now();
  }
  /// The lap; nothing where the tape does not ask for times.
  std::optional<Lap> stop() {
    if (!tape_) return std::nullopt;
    lap_.length = now() - lap_.begin;
    return lap_;
  }

 private:
  std::int64_t now() const { return thread_state().clock() - tape_->began; }

  const TapeBody* tape_;
  Lap lap_;
};

/// While it lives, ops on this thread are not recorded and leave no mark: forward functions and rules run so.
class Quiet {
 public:
  explicit Quiet(bool quiet = true) : before_(std::exchange(thread_state().quiet, quiet)) {}
  ~Quiet() { thread_state().quiet = before_; }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  bool before_;
};

/// Whether the tape with that serial number still lives.
bool alive(std::uint64_t serial);

/// What the rule of an op's step gives for dy, its gradients checked in number, shape and dtype; recorded
/// only where asked for.
Gradients rule_of(const Step& step, const Tensor& dy, Needs needs, bool record);

}  // namespace pencil::detail
