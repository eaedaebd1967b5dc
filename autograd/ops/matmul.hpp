#pragma once

#include "autograd/op.hpp"

namespace pencil {

struct MatmulOptions {
  bool transpose_left = false;   // read a as if its last two axes were swapped; costs nothing
  bool transpose_right = false;  // the same for b
};

/// The matrix product with NumPy's rules: a (…, m, k), b (…, k, n) → (…, m, n), leading axes broadcast. A
/// vector on the left is a row, on the right a column, and its axis is dropped from the result. Throws Error
/// where the inner sizes or the leading axes do not fit, for rank 0, i32 and mixed dtypes, and for a vector
/// that is to be transposed.
Tensor matmul(const Located& a, const Located& b, const MatmulOptions& options = {});

/// x Wᵀ + b over the last axis: x (…, in), weight (out, in), bias (out) → (…, out).
Tensor linear(const Located& x, const Located& weight, const Located& bias);
Tensor linear(const Located& x, const Located& weight);

}  // namespace pencil
