#include "autograd/ops/axes.hpp"

#include <algorithm>

#include "autograd/ops/shape_ops.hpp"

namespace pencil::detail {

const std::vector<std::int64_t>& axes_of(const Attributes& attributes) {
  return attributes.get<std::vector<std::int64_t>>("axes");
}

Axes axes_argument(const Attributes& attributes) {
  const auto& axes = axes_of(attributes);
  return std::vector<int>(axes.begin(), axes.end());
}

Shape kept_shape(Shape shape, const Attributes& attributes) {
  for (const std::int64_t axis : axes_of(attributes)) shape = shape.with(static_cast<int>(axis), 1);
  return shape;
}

Shape result_shape(Shape shape, const Attributes& attributes) {
  const auto& axes = axes_of(attributes);
  if (attributes.get<bool>("keep")) return kept_shape(shape, attributes);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) shape = shape.without(static_cast<int>(*axis));
  return shape;
}

std::int64_t count_of(const Shape& shape, const Attributes& attributes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes_of(attributes)) count *= shape[static_cast<int>(axis)];
  return count;
}

Tensor kept(const Step& s, const Tensor& y) {
  const Shape shape = kept_shape(s.raw_input(0).shape(), s.attributes());
  return y.shape() == shape ? y : reshape(y, shape);
}

std::vector<Worked> reduced_numbers(Worksheet& sheet, std::int64_t element) {
  const Shape& shape = sheet.step().input(0).shape();
  return inputs_at(sheet, 0, summed_places(shape, kept_shape(shape, sheet.step().attributes()), element));
}

std::vector<std::int64_t> resolved(const char* who, const Shape& shape, const Axes& axes) {
  std::vector<std::int64_t> list;
  for (const int axis : axes.list()) list.push_back(shape.resolve(axis, who));
  std::ranges::sort(list);
  if (const auto twice = std::ranges::adjacent_find(list); twice != list.end())
    fail("[{}] axis {} of shape {} was given twice", who, *twice, shape);
  return list;
}

std::vector<int> all_axes(const Tensor& x) {
  std::vector<int> axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  return axes;
}

Tensor reduced(const Op& op, const Located& x, const Axes& axes, bool keep) {
  need_float(op.word().c_str(), x);
  return apply(op, {x}, {{"axes", resolved(op.word().c_str(), x->shape(), axes)}, {"keep", keep}});
}

}  // namespace pencil::detail
