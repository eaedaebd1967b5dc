#pragma once

#include <cstdint>

#include "autograd/tensor.hpp"

namespace pencil::inspect {

/// A tensor in a few numbers.
struct Summary {
  double least = 0, mean = 0, largest = 0;  // of the finite numbers; 0 where there is none
  std::int64_t finite = 0, nan = 0, inf = 0;
};

Summary summary_of(const Tensor& x);

/// How many numbers stand before the … of a summary.
inline constexpr std::int64_t first_numbers = 3;

}  // namespace pencil::inspect
