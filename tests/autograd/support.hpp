// What the tests of autograd/ share.
#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "autograd/create.hpp"
#include "autograd/tape.hpp"
#include "tests/catch.hpp"

namespace pencil::tests {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

using Numbers = std::vector<double>;

inline Numbers numbers(const Tensor& x) { return x.to_vector(); }

/// The largest |a − b| over the largest |b|, or over 1 if that is smaller; infinite where shapes or dtypes
/// differ, or where only one of two numbers is NaN or they are different infinities.
inline double distance(const Tensor& a, const Tensor& b, double least_scale = 1) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return infinity;
  const Numbers x = numbers(a), y = numbers(b);
  double scale = least_scale, worst = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) {
      if (std::isfinite(y[i])) scale = std::max(scale, std::abs(y[i]));
      continue;
    }
    if (!std::isfinite(x[i]) || !std::isfinite(y[i])) return infinity;
    scale = std::max(scale, std::abs(y[i]));
    worst = std::max(worst, std::abs(x[i] - y[i]));
  }
  return worst / scale;
}

inline bool same_numbers(const Tensor& a, const Tensor& b) { return distance(a, b) == 0; }

inline bool finite(const Tensor& x) {
  const Numbers all = numbers(x);
  return std::all_of(all.begin(), all.end(), [](double v) { return std::isfinite(v); });
}

inline bool all_zero(const Tensor& x) {
  const Numbers all = numbers(x);
  return std::all_of(all.begin(), all.end(), [](double v) { return v == 0; });
}

inline Tensor random(const Shape& shape, std::uint64_t seed, DType dtype = f64) {
  Rng rng(seed);
  return randn(shape, rng, dtype);
}

/// The gradient of f(x), with respect to x, under an upstream gradient (1 if none is given).
template <class F>
Tensor gradient_at(const F& f, const Tensor& x, const Tensor& upstream = Tensor()) {
  Tape tape;
  const Tensor y = f(x);
  return tape.gradient(y, {x}, {.upstream = upstream})[0];
}

/// The same with respect to all of several tensors.
template <class F>
std::vector<Tensor> gradients_at(const F& f, const std::vector<Tensor>& xs,
                                 const Tensor& upstream = Tensor()) {
  Tape tape;
  const Tensor y = f(xs);
  return tape.gradient(y, xs, {.upstream = upstream});
}

}  // namespace pencil::tests
