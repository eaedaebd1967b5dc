#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/op.hpp"

namespace pencil {

class Scalar;

/// What is recorded of a fused op: itself (fast), or the simpler ops it is composed of (steps), one by one.
enum class Detail : std::uint8_t { fast, steps };
/// What stays until the tape dies: everything, to be read; or, for training, the gradients of parameters
/// only, the rest being freed as the backward sweep passes.
enum class Keep : std::uint8_t { all, leaves };

struct TapeOptions {
  Detail detail = Detail::fast;
  Keep keep = Keep::all;
  // Check every output, and every gradient that a rule gives, and throw Error at the step that makes a NaN or
  // an infinity, saying by what arithmetic (autograd/nonfinite.hpp). Costs a look at each number.
  bool stop_on_nonfinite = false;
  bool time = false;  // measure every step, forward and backward, on the steady clock
};

enum class StepKind : std::uint8_t {
  op,         // an op was applied
  parameter,  // a leaf that collects a gradient
  constant,   // a tensor from outside any tape
  foreign,    // a tensor of another live tape: a constant here
  paused,     // an op under Tape::Pause, the first for its input: no rule, no value
  scalars     // scalar statements (autograd/scalar.hpp), all that stand between two other steps
};
/// "op", "parameter", …
std::string_view name_of(StepKind kind);

struct GradientOptions {
  Tensor upstream = {};  // dL/dy; one where y holds one number
  bool record = false;   // record the sweep, so that the result can be differentiated again
};

struct BackwardOptions {
  Tensor upstream = {};
};

class Tape;

namespace detail {
struct StepRecord;
struct TapeBody;
/// What a tape is inside (autograd/tape_body.hpp), for inspection.
const TapeBody& body_of(const Tape& tape);
}  // namespace detail

/// One line of a tape, as a rule and an inspector see it: a view, valid while its tape lives.
class Step {
 public:
  int number() const;
  StepKind kind() const;
  /// A parameter, a constant, or a tensor of another tape: computed from nothing on this one.
  bool is_leaf() const;
  /// The op; throws for leaves and Scalars.
  const Op& op() const;
  /// The op's word, or "parameter", "constant", "foreign", "paused", "scalars".
  std::string_view word() const;

  int inputs() const;
  /// An input as recorded. Throws Error if it was freed (Keep::leaves) or overwritten since, saying where.
  const Tensor& input(int i) const;
  /// The number of the step that made input i, or −1 for a plain C++ number.
  int input_step(int i) const;
  /// The input without the check: undefined if freed. For inspection.
  const Tensor& raw_input(int i) const;
  /// Whether input i is a parameter that was written after this step read it.
  bool overwritten(int i) const;
  /// The version of input i that this step read.
  std::uint32_t input_version(int i) const;
  /// Throws Error if it was freed.
  const Tensor& output() const;
  const Tensor& raw_output() const;
  const Shape& shape() const;
  DType dtype() const;
  int saved_count() const;
  /// What forward handed back to be saved.
  const Tensor& saved(int i) const;
  /// The same without the checks: undefined if freed. For inspection.
  const Tensor& raw_saved(int i) const;
  const Attributes& attributes() const;
  template <class T>
  const T& attribute(std::string_view name) const {
    return attributes().get<T>(name);
  }
  /// Whether a parameter's gradient can pass through here.
  bool needs_gradient() const;
  /// The blame: the gradient that arrived here in `backward`, undefined before it, off its path, or when
  /// freed.
  const Tensor& gradient() const;
  /// Whether `backward` reached this step (also true once the gradient was freed).
  bool reached() const;

  std::string_view name() const;
  std::string_view role() const;
  /// The module path: "attend.query".
  std::string_view path() const;
  /// The line of the op call, and the outermost line of the user's that led to it.
  Where where() const;
  Where called() const;
  /// The step whose gradient this step computes in a recorded sweep, or −1.
  int gradient_of() const;

  /// Nanoseconds that forward took, and that the rule took in `backward` with the adding up of its gradients;
  /// −1 where it was not measured (TapeOptions::time) or not run.
  std::int64_t forward_time() const;
  std::int64_t backward_time() const;
  /// When they began, in nanoseconds since the tape was made; −1 likewise.
  std::int64_t forward_begin() const;
  std::int64_t backward_begin() const;

 private:
  friend class Tape;
  friend struct detail::TapeBody;
  Step(const detail::TapeBody* tape, int number) : tape_(tape), number_(number) {}
  const detail::StepRecord& record() const;

  const detail::TapeBody* tape_;
  int number_;
};

/// Steps are recorded, in order of creation, while a Tape lives on this thread; without one nothing is
/// recorded.
///
/// Invariants: (1) a step's inputs have smaller numbers than the step: the order of creation is the
/// topological order. (2) Tensors never own steps: a tensor that outlives its tape is a constant. (3) Tapes
/// nest, the innermost records; a tape ends on the thread that made it. (4) Only the sweep adds gradients up.
class Tape {
 public:
  explicit Tape(TapeOptions options = {});
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// The tape that records on this thread now, or none.
  static Tape* current();

  /// Adds the gradient of y to every parameter it depends on. y must hold one number unless an upstream
  /// gradient of its shape is given. Once a tape: a second call throws and names the first. Throws also from
  /// another thread, for a y that is not on this tape, and for a y that depends on no parameter. Where it
  /// throws, no parameter has got a gradient; with Keep::all the tape is as before and may be tried again.
  void backward(const Tensor& y, const BackwardOptions& options = {}, Where where = Where::current());

  /// Likewise from a Scalar: brings every Scalar that y depends on, and every parameter behind them, its
  /// gradient.
  void backward(const Scalar& y, Where where = Where::current());

  /// The gradients of y with respect to each of xs (any tensors of this tape), zeros where there is no path;
  /// may be asked many times, frees nothing and leaves every parameter's gradient as it is.
  std::vector<Tensor> gradient(const Tensor& y, std::span<const Tensor> xs,
                               const GradientOptions& options = {}, Where where = Where::current());
  std::vector<Tensor> gradient(const Tensor& y, std::initializer_list<Tensor> xs,
                               const GradientOptions& options = {}, Where where = Where::current()) {
    return gradient(y, std::span(xs.begin(), xs.size()), options, where);
  }

  /// The same from and for Scalars of this tape; a recorded sweep cannot pass them.
  std::vector<Tensor> gradient(const Scalar& y, std::span<const Tensor> xs, Where where = Where::current());
  std::vector<Tensor> gradient(const Scalar& y, std::initializer_list<Tensor> xs,
                               Where where = Where::current()) {
    return gradient(y, std::span(xs.begin(), xs.size()), where);
  }
  std::vector<double> gradient(const Scalar& y, std::span<const Scalar> xs, Where where = Where::current());
  std::vector<double> gradient(const Tensor& y, std::span<const Scalar> xs, Where where = Where::current());

  /// The gradient that `backward` brought to a tensor of this tape. Throws before backward, where none came,
  /// and where it was freed (Keep::leaves).
  Tensor grad(const Tensor& x) const;

  int size() const;
  Step step(int number) const;
  /// The step that made a tensor, or −1 if it is not of this tape.
  int step_of(const Tensor& x) const;
  const TapeOptions& options() const;
  /// The step `backward` started from, or −1 before it.
  int backward_from() const;
  Where backward_where() const;

  /// While it lives nothing is recorded on this thread; the first op on each recorded tensor leaves a mark.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Tape* tape_;
  };

 private:
  friend Tensor apply(const Op&, Inputs, const Attributes&, Where);
  friend struct detail::TapeBody;
  friend const detail::TapeBody& detail::body_of(const Tape&);
  Gradients run_rule(int number, const Tensor& dy, Needs needs, bool record);
  std::vector<Tensor> sweep(int low, int from, const Tensor& upstream, std::span<const int> targets,
                            bool record, std::uint32_t place = 0, bool to_scalars = false);
  std::vector<Tensor> gradient_of_tensors(int from, const Tensor& upstream, std::uint32_t place,
                                          std::span<const Tensor> xs, bool record);
  std::vector<double> gradient_of_scalars(int from, const Tensor& upstream, std::uint32_t place,
                                          std::span<const Scalar> xs);
  int checked_start(const Tensor& y, Tensor& upstream, const char* who) const;
  int checked_start(const Scalar& y, const char* who) const;
  void check_unswept() const;
  /// From a step with an upstream gradient, or, where that is undefined, from the Scalar at a place.
  void sweep_back(int from, Tensor upstream, std::uint32_t place, Where where);

  std::unique_ptr<detail::TapeBody> body_;
};

/// While it lives, steps recorded on this thread play this role for the glossaries: "key", "scores", "blend"
/// …. A string literal, or another text that outlives the tapes.
class Role {
 public:
  explicit Role(const char* role);
  ~Role();
  Role(const Role&) = delete;
  Role& operator=(const Role&) = delete;

 private:
  const char* before_;
};

/// A path as it stands, not joined to anything; an empty one leaves the path around it.
struct WholePath {
  std::string_view path;
};

/// While it lives, steps recorded on this thread carry its path, joined to the path around it with a dot.
/// Modules open one whenever they are called.
class Scope {
 public:
  explicit Scope(std::string_view name, Where where = Where::current());
  explicit Scope(WholePath whole, Where where = Where::current());
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  /// The current path, "" outside any scope.
  static std::string_view path();

 private:
  friend struct detail::TapeBody;
  Scope* outer_;
  std::string path_;
  Where called_;
};

}  // namespace pencil
