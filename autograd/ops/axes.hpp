#pragma once

// What reductions over several axes share, which have them as the setting "axes", in order, and whether they
// stay with size 1 as "keep"; no part of the public interface.

#include <vector>

#include "autograd/ops/reduce.hpp"
#include "autograd/ops/worked.hpp"

namespace pencil::detail {

const std::vector<std::int64_t>& axes_of(const Attributes& attributes);
/// The same, to be given to another reduction.
Axes axes_argument(const Attributes& attributes);

/// A shape with every reduced axis 1, and the result's: without them unless they are kept.
Shape kept_shape(Shape shape, const Attributes& attributes);
Shape result_shape(Shape shape, const Attributes& attributes);
/// How many numbers go into one of the result.
std::int64_t count_of(const Shape& shape, const Attributes& attributes);
/// A step's output, or its gradient, with the reduced axes back as 1: broadcasts against the input.
Tensor kept(const Step& s, const Tensor& y);

/// The numbers that go into one of the result.
std::vector<Worked> reduced_numbers(Worksheet& sheet, std::int64_t element);

/// Axes counted from the front, in order. Throws where one is not there or was given twice.
std::vector<std::int64_t> resolved(const char* who, const Shape& shape, const Axes& axes);
std::vector<int> all_axes(const Tensor& x);
/// Applies a reduction.
Tensor reduced(const Op& op, const Located& x, const Axes& axes, bool keep);

}  // namespace pencil::detail
