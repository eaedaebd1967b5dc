#pragma once

// NaN and infinities: which step made one out of numbers that were none, and by what arithmetic. What
// TapeOptions::stop_on_nonfinite throws and first_nonfinite (autograd/inspect/nonfinite.hpp) finds.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autograd/tape.hpp"

namespace pencil {

/// The origin of a NaN or an infinity.
struct NonFinite {
  enum class Origin : std::uint8_t {
    leaf,      // a leaf held it already
    forward,   // a step made it
    rule,      // a step's rule made a gradient of it
    sum,       // adding up the gradients of a step made it
    upstream,  // the gradient that `backward` began with held it already
  };
  Origin origin = Origin::forward;
  int step = 0;
  int input = -1;  ///< of an op's rule: the input whose gradient it is in
  std::string word;
  std::string name;   ///< of the tensor or the Scalar that holds it, "" if it has none
  std::string path;   ///< the module's
  Where where = {};   ///< the line of the op
  Where called = {};  ///< the outermost line of the user's that led to it
  Shape shape = {};
  std::int64_t element = 0;  ///< the first such number, row-major
  double value = 0;
  std::int64_t count = 0;        ///< how many numbers there are not finite
  bool out_of_infinity = false;  ///< a NaN, made of infinities that were there before
  /// The arithmetic that made it, "log(-1) = nan, the log of a number below 0"; "" where the op does not say.
  std::string arithmetic = {};
  std::string within =
      {};  ///< the op inside, in whose arithmetic that stands: a rule's, or a fused op's part
  std::vector<int> passed_on = {};  ///< the steps it went on to: by their values, or by their gradients
};

/// One line, and a second for the steps that it was passed on to.
std::string to_string(const NonFinite& found);

namespace detail {

struct RecordView;
struct Statements;

/// The first number of a float tensor that is NaN or infinite, or that is NaN; −1 if none.
std::int64_t first_not_finite(const Tensor& x);
std::int64_t first_nan(const Tensor& x);

/// Whether a step made a NaN or an infinity that it was not given: a non-finite number out of finite ones, or
/// a NaN out of infinities. For a leaf, whether it holds one that nobody means: a NaN, or an infinity in a
/// parameter (in a constant it may be a mask).
std::optional<NonFinite> nonfinite_forward(const Step& step);
/// The same of what a rule gave for dy.
std::optional<NonFinite> nonfinite_rule(const Step& step, const Tensor& dy, Needs needs,
                                        const Gradients& given);
/// The same of a sum of two gradients that came to a step.
std::optional<NonFinite> nonfinite_sum(const Step& step, const Tensor& a, const Tensor& b, const Tensor& sum);
/// A tensor of a step that holds one already: a leaf, or the gradient that a sweep starts from.
NonFinite nonfinite_held(const Step& step, const Tensor& x, NonFinite::Origin origin);

/// A piece of arithmetic that gave NaN or infinity, and the op inside of which it stands, "" for the step's
/// own.
struct Cause {
  std::string arithmetic;
  std::string within;
};
Cause cause_of_value(const Step& step, std::int64_t element);
Cause cause_of_gradient(const Step& step, const Tensor& dy, int input);
/// Of a scalar statement of a step.
Cause cause_of_statement(const Step& step, const Statements& statements, const RecordView& record);
Cause cause_of_sum(double a, double b, DType dtype);

}  // namespace detail
}  // namespace pencil
