#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "autograd/op.hpp"

namespace pencil {

/// The same numbers, in the same order, under another shape; shared, not copied. One size may be −1 and is
/// worked out from the rest. Throws Error where the numbers do not fit.
Tensor reshape(const Located& x, std::initializer_list<std::int64_t> sizes);
Tensor reshape(const Located& x, const Shape& shape);
/// The last two axes swapped: y[…, j, i] = x[…, i, j]. Copies; `matmul` reads a transposed side for nothing.
Tensor transpose(const Located& x);
/// Axis i of the result is axis axes[i] of x; every axis once, negative ones count from the end.
Tensor permute(const Located& x, std::span<const int> axes);
inline Tensor permute(const Located& x, std::initializer_list<int> axes) {
  return permute(x, std::span(axes.begin(), axes.size()));
}
/// Without its axes of size 1: all of them, or one, which throws Error unless its size is 1.
Tensor squeeze(const Located& x);
Tensor squeeze(const Located& x, int axis);
/// With a new axis of size 1 before `axis`; −1 puts it last.
Tensor unsqueeze(const Located& x, int axis);

/// x repeated to a shape it broadcasts to: new axes in front, sizes of 1 stretched. Throws Error where it
/// does not.
Tensor broadcast_to(const Located& x, const Shape& shape);
/// The sum of x over everything that broadcasting `shape` to x's shape repeats: undoes a broadcast, and is
/// the gradient of one.
Tensor sum_to(const Located& x, const Shape& shape);

/// Tensors side by side along an axis; their other sizes must agree. Throws Error for none.
Tensor concat(std::span<const Tensor> parts, int axis, Where where = Where::current());
inline Tensor concat(std::initializer_list<Tensor> parts, int axis, Where where = Where::current()) {
  return concat(std::span(parts.begin(), parts.size()), axis, where);
}
/// Tensors of one shape along a new axis.
Tensor stack(std::span<const Tensor> parts, int axis = 0, Where where = Where::current());
inline Tensor stack(std::initializer_list<Tensor> parts, int axis = 0, Where where = Where::current()) {
  return stack(std::span(parts.begin(), parts.size()), axis, where);
}

/// Rows start, start + step, … before `stop` of an axis. Negative start and stop count from the end. Throws
/// Error unless 0 ≤ start ≤ stop ≤ size afterwards and step ≥ 1.
Tensor slice(const Located& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
/// The opposite, and its gradient: zeros with `size` rows, and those of y at start, start + step, ….
Tensor unslice(const Located& y, int axis, std::int64_t size, std::int64_t start, std::int64_t step = 1);
/// Consecutive slices of the given sizes, which must add up to the axis.
std::vector<Tensor> split(const Located& x, std::span<const std::int64_t> sizes, int axis);
inline std::vector<Tensor> split(const Located& x, std::initializer_list<std::int64_t> sizes, int axis) {
  return split(x, std::span(sizes.begin(), sizes.size()), axis);
}

// Tensor::operator[], Tensor::detach and Tensor::to belong to this family and are declared in tensor.hpp.

}  // namespace pencil
