#pragma once

#include "autograd/op.hpp"

namespace pencil {

// A sheet of rows becomes one row: x (batch, length, width) → (batch, width).

/// The mean over the length; zeros, with gradient 0, where it is 0.
Tensor mean_pool(const Located& x);
/// The mean over the rows whose mask is not 0; mask (batch, length), i32 or x's dtype. Zeros, with gradient
/// 0, where no row is left.
Tensor mean_pool(const Located& x, const Located& mask);
/// The largest number of each column; ties share the gradient equally. Otherwise as mean_pool.
Tensor max_pool(const Located& x);
Tensor max_pool(const Located& x, const Located& mask);

}  // namespace pencil
