#pragma once

#include "autograd/ops/elementwise.hpp"

namespace pencil {

// Number by number with NumPy broadcasting, in any dtype (both sides of one); i32, 1 where it holds and 0
// elsewhere. No gradient passes: they leave a mark. NaN is equal to nothing.
Tensor equal(const Operand& a, const Operand& b);
Tensor not_equal(const Operand& a, const Operand& b);
Tensor less(const Operand& a, const Operand& b);
Tensor less_equal(const Operand& a, const Operand& b);
Tensor greater(const Operand& a, const Operand& b);
Tensor greater_equal(const Operand& a, const Operand& b);

/// a where the condition (i32) is not 0, else b; all three broadcast. The branch not taken has no influence
/// on a gradient, not even where it is infinite or NaN.
Tensor where(const Located& condition, const Operand& a, const Operand& b);
/// x with `value` wherever the mask (i32), which broadcasts to x, is not 0. No gradient passes there.
Tensor masked_fill(const Located& x, const Located& mask, double value);

}  // namespace pencil
