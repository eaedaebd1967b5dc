#pragma once

// What the ops of this folder share; no part of the public interface.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/op.hpp"

namespace pencil {
class Operand;
}

namespace pencil::detail {

/// Makes an op of the library and notes its word, so that the tests can tell when one has no row in their
/// table.
Op built_in(std::string word, OpParts parts);
/// The words of all ops that built_in has made, in byte order, each once.
std::vector<std::string> built_in_words();

/// Throws Error unless x is f32 or f64.
void need_float(const char* who, const Tensor& x);
/// Throws Error unless both are f32 or both f64.
void need_floats(const char* who, const Tensor& a, const Tensor& b);
/// Throws Error unless x is i32; `what` names it: "ids", "mask".
void need_i32(const char* who, const char* what, const Tensor& x);

/// The shape that the inputs of a formula broadcast to. Throws Error unless all are f32 or all f64.
Shape broadcast_floats(const char* who, Inputs in);
/// Applies a formula's op to tensors and plain numbers, at least one of them a tensor, which says the dtype.
Tensor apply_formula(const Op& op, std::span<const Operand> arguments);

/// A shape as an attribute, and back.
std::vector<std::int64_t> sizes(const Shape& shape);
Shape shape_of(const Attributes& attributes, std::string_view name);
/// An axis as an attribute holds it, back as an int.
int axis_of(const Attributes& attributes);

/// x + factor · direction, x in f64, as a tensor of its own that no tape sees: for central differences.
Tensor moved(const Tensor& x, std::span<const double> direction, double factor);

/// Numbers that stand `step` apart in a row-major array.
struct Line {
  std::int64_t first = 0, step = 1, count = 0;
  std::int64_t at(std::int64_t i) const { return first + i * step; }
};

/// An axis in the middle of an array: the numbers before it, along it and after it.
struct Around {
  Around(const Shape& shape, int axis);
  std::int64_t outer = 1, size = 1, inner = 1;

  /// The index along the axis of the number at a row-major place.
  std::int64_t index(std::int64_t place) const { return place / inner % size; }
  /// The place of that number without the axis.
  std::int64_t rest(std::int64_t place) const { return place / (size * inner) * inner + place % inner; }
  /// The numbers along the axis that stand beside number `rest` of the array without the axis.
  Line line(std::int64_t rest) const { return {rest / inner * size * inner + rest % inner, inner, size}; }
  /// The numbers along the axis of which the number at a place is one.
  Line through(std::int64_t place) const { return {place - index(place) * inner, inner, size}; }
};

/// The work of an op that does so many operations for each number of its first input, forward and backward:
/// counted in the formulas above the op, e^x and its like being one.
std::function<Work(const WorkSizes&, const Attributes&)> work_per_number(double forward, double backward);
/// The work of a formula: one operation for each number of the result, however long the formula is, and one
/// for each of a gradient.
Work formula_work(const WorkSizes& sizes, const Attributes&);

/// x copied over a shape by broadcasting, off the tape.
Tensor spread_copy(const Tensor& x, const Shape& shape);
/// The same; x itself where it has the shape.
inline Tensor spread(const Tensor& x, const Shape& shape) {
  return x.shape() == shape ? x : spread_copy(x, shape);
}

/// Axis i of the result is axis axes[i] of x; off the tape.
Tensor permuted(const Tensor& x, std::span<const int> axes);
/// x with one axis moved to the end, for kernels that work on rows, and back; x itself where it is there.
Tensor axis_to_end(const Tensor& x, int axis);
Tensor axis_from_end(const Tensor& x, int axis);

}  // namespace pencil::detail
