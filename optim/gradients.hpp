#pragma once

#include <span>
#include <string>
#include <vector>

#include "autograd/tensor.hpp"

namespace pencil::optim {

/// Forgets the gradients of all parameters: afterwards they have none, which is not the same as 0.
void zero_grad(std::span<const Tensor> parameters);

/// Scales all gradients by one factor where their norm, taken over all of them together, is above `most`:
/// g · most / norm. Parameters without a gradient do not count. Returns the norm before. Throws Error for
/// most ≤ 0 and for a gradient that is not finite, and then changes nothing.
double clip_norm(std::span<const Tensor> parameters, double most);

namespace detail {

/// A parameter's name, or "parameter 3" by its place in a list.
std::string label(const Tensor& parameter, std::size_t place);

/// The Euclidean norm, without overflow or underflow of the squares; infinite or NaN where x is not finite.
double norm(const Tensor& x);

/// The norm of the parameter's gradient. Throws Error, naming the parameter, the position and the number, if
/// the gradient is not finite.
double finite_norm(const char* who, const Tensor& gradient, const std::string& name);

/// The norm over all, from the norms of each: in the order given.
double joined(std::span<const double> norms);

/// Notes which parameters some optimizer holds, as long as it lives.
class Held {
 public:
  Held() = default;
  explicit Held(std::vector<Tensor> parameters);
  Held(Held&& other) noexcept : parameters_(std::move(other.parameters_)) { other.parameters_.clear(); }
  Held& operator=(Held&& other) noexcept { return std::swap(parameters_, other.parameters_), *this; }
  ~Held();

  const std::vector<Tensor>& parameters() const { return parameters_; }
  /// Whether any optimizer holds a parameter.
  static bool any(const Tensor& parameter);

 private:
  std::vector<Tensor> parameters_;
};

}  // namespace detail

}  // namespace pencil::optim
