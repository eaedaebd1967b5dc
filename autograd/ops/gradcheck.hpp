#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/op.hpp"

namespace pencil {

struct GradcheckOptions {
  Attributes attributes = {};  // what an Op is applied with
  bool second = false;         // check the derivative of the gradient too
  double step = 1e-5;          // of the central difference, times max(1, |x|)
  // What analytic and numeric may differ by: absolute + relative · the largest numeric one of the argument.
  double absolute = 1e-8;
  double relative = 1e-6;
  std::uint64_t seed = 1;               // of the upstream gradient
  std::vector<std::string> names = {};  // what messages call the arguments; without one "argument 0"
};

/// What gradcheck found where nothing was wrong.
struct GradcheckReport {
  /// Where the function bends or jumps, so that there is no one slope that a gradient could agree with.
  struct Kink {
    std::string where;           // "relu, argument 0 of shape (3), element [1]"
    double analytic = 0;         // the gradient from the tape
    double left = 0, right = 0;  // the slopes on both sides
    double step = 0;             // over which they were taken
  };

  std::int64_t numbers = 0;  // of the gradients that were looked at
  std::vector<Kink> kinks;   // in order of argument and element
};

/// "6 numbers, all agree", or how many stand at kinks and a line for each.
std::string to_string(const GradcheckReport& report);

/// Compares the gradients of a function of tensors, taken from a tape, with central differences
/// (f(x + h) − f(x − h)) / 2h, under a random upstream gradient; f64 only, for f32 has too few digits for
/// differences; i32 inputs stay as they are. Every element is tried in arguments of up to 256 numbers; larger
/// ones are tried in one random direction first, and by element only if that fails. Throws Error naming the
/// function, the argument, the element, the analytic and the numeric number and the step where they do not
/// agree. Where the slopes to the left and to the right differ, however small the step, no gradient could:
/// that is reported.
GradcheckReport gradcheck(const std::string& word, const std::function<Tensor(Inputs)>& f, Inputs inputs,
                          const GradcheckOptions& options = {});

/// The gradients of an op; inputs that it calls constant stay as they are.
GradcheckReport gradcheck(const Op& op, Inputs inputs, const GradcheckOptions& options = {});
inline GradcheckReport gradcheck(const Op& op, std::initializer_list<Tensor> inputs,
                                 const GradcheckOptions& options = {}) {
  return gradcheck(op, Inputs(inputs.begin(), inputs.size()), options);
}

/// The gradients of anything that is called with one to four tensors, or with Inputs:
/// `gradcheck([](const Tensor& x) { return mean(square(x)); }, {x})`.
template <class F>
requires(!std::convertible_to<const F&, const Op&>) GradcheckReport
    gradcheck(const F& f, std::initializer_list<Tensor> inputs, const GradcheckOptions& options = {}) {
  using T = const Tensor&;
  std::function<Tensor(Inputs)> call;
  if constexpr (std::is_invocable_v<const F&, Inputs>)
    call = f;
  else if constexpr (std::is_invocable_v<const F&, T>)
    call = [&f](Inputs in) { return f(in[0]); };
  else if constexpr (std::is_invocable_v<const F&, T, T>)
    call = [&f](Inputs in) { return f(in[0], in[1]); };
  else if constexpr (std::is_invocable_v<const F&, T, T, T>)
    call = [&f](Inputs in) { return f(in[0], in[1], in[2]); };
  else
    call = [&f](Inputs in) { return f(in[0], in[1], in[2], in[3]); };
  constexpr std::size_t arity = std::is_invocable_v<const F&, Inputs>    ? 0
                                : std::is_invocable_v<const F&, T>       ? 1
                                : std::is_invocable_v<const F&, T, T>    ? 2
                                : std::is_invocable_v<const F&, T, T, T> ? 3
                                                                         : 4;
  if (arity != 0 && inputs.size() != arity)
    fail("[gradcheck] the function takes {} tensors and was given {}", arity, inputs.size());
  return gradcheck("the function", call, Inputs(inputs.begin(), inputs.size()), options);
}

/// gradcheck, and then the same for the gradient: what a recorded sweep gives, as a function of the inputs
/// and of the upstream gradient. Takes what gradcheck takes but for the word.
template <class F>
GradcheckReport gradgradcheck(const F& f, std::initializer_list<Tensor> inputs,
                              GradcheckOptions options = {}) {
  options.second = true;
  return gradcheck(f, inputs, options);
}

}  // namespace pencil
