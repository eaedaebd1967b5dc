#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "autograd/scalar.hpp"
#include "autograd/tensor.hpp"

namespace pencil {

/// The values of Scalars as a tensor of shape (n), f64; gradients pass both ways. Constant where all of them
/// are.
Tensor stack(std::span<const Scalar> x, Where where = Where::current());
inline Tensor stack(std::initializer_list<Scalar> x, Where where = Where::current()) {
  return stack(std::span(x.begin(), x.size()), where);
}

/// The numbers of a tensor as Scalars, row-major; gradients pass both ways. Constants where no tape records.
/// Casts f32 and i32 to f64.
std::vector<Scalar> unstack(const Tensor& x, Where where = Where::current());

}  // namespace pencil
