// slice, unslice, split and Tensor::operator[].

#include <algorithm>
#include <limits>

#include "autograd/kernels/layout.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::Around;
using detail::axis_of;
using detail::built_in;

namespace {

// Every index of every axis, but for `axis`, where it is `range`.
struct Ranges {
  Ranges(const Shape& shape, int axis, const kernels::Range& range) {
    for (int i = 0; i < shape.rank(); ++i) of[static_cast<std::size_t>(i)] = {0, 1, shape[i]};
    of[static_cast<std::size_t>(axis)] = range;
  }
  std::array<kernels::Range, Shape::max_rank> of;
};

kernels::Range range_of(const Attributes& attributes) {
  return {attributes.get<std::int64_t>("start"), attributes.get<std::int64_t>("step"),
          attributes.get<std::int64_t>("count")};
}

Computed slice_forward(Inputs in, const Attributes& attributes) {
  const Tensor& x = in[0];
  const int axis = axis_of(attributes);
  const kernels::Range range = range_of(attributes);
  Tensor y = empty(x.shape().with(axis, range.count), x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    kernels::slice(x.rank(), x.shape().sizes().data(), Ranges(x.shape(), axis, range).of.data(),
                   x.values<T>().data(), y.writable<T>().data());
  });
  return y;
}

Computed unslice_forward(Inputs in, const Attributes& attributes) {
  const Tensor& y = in[0];
  const int axis = axis_of(attributes);
  Tensor x = empty(y.shape().with(axis, attributes.get<std::int64_t>("size")), y.dtype());
  const kernels::Range range{attributes.get<std::int64_t>("start"), attributes.get<std::int64_t>("step"),
                             y.size(axis)};
  dispatch(y.dtype(), [&]<class T>(T) {
    kernels::slice_gradient(x.rank(), x.shape().sizes().data(), Ranges(x.shape(), axis, range).of.data(),
                            y.values<T>().data(), x.writable<T>().data());
  });
  return x;
}

Worked explain_slice(Worksheet& sheet, std::int64_t element) {
  const Step& s = sheet.step();
  const int axis = axis_of(s.attributes());
  const Around x(s.input(0).shape(), axis), y(s.shape(), axis);
  const kernels::Range range = range_of(s.attributes());
  return sheet.input(0, x.line(y.rest(element)).at(range.start + y.index(element) * range.step));
}

Worked explain_unslice(Worksheet& sheet, std::int64_t element) {
  const Step& s = sheet.step();
  const int axis = axis_of(s.attributes());
  const Around y(s.input(0).shape(), axis), x(s.shape(), axis);
  const std::int64_t step = s.attribute<std::int64_t>("step");
  const std::int64_t from_start = x.index(element) - s.attribute<std::int64_t>("start");
  if (from_start >= 0 && from_start % step == 0 && from_start / step < y.size)
    return sheet.input(0, y.line(x.rest(element)).at(from_start / step));
  sheet.note("0: outside the slice");
  return 0;
}

// y = x[…, start : start + step·count : step, …]        dx = dy there, 0 elsewhere
const Op slice_op = built_in(
    "slice", {.forward = slice_forward,
              .rule =
                  [](const Step& s, const Tensor& dy, Needs) {
                    const int axis = axis_of(s.attributes());
                    const kernels::Range range = range_of(s.attributes());
                    return Gradients{unslice(dy, axis, s.raw_input(0).size(axis), range.start, range.step)};
                  },
              .zero = "cut off",
              .explain = explain_slice});

Tensor sliced(const Located& x, int axis, const kernels::Range& range) {
  return apply(
      slice_op, {x},
      {{"axis", std::int64_t{axis}}, {"start", range.start}, {"step", range.step}, {"count", range.count}});
}

// x = 0 but for x[…, start : : step, …] = y        dy = dx there
const Op unslice_op =
    built_in("unslice", {.forward = unslice_forward,
                         .rule =
                             [](const Step& s, const Tensor& dx, Needs) {
                               const int axis = axis_of(s.attributes());
                               const kernels::Range range{s.attribute<std::int64_t>("start"),
                                                          s.attribute<std::int64_t>("step"),
                                                          s.raw_input(0).size(axis)};
                               return Gradients{sliced(dx, axis, range)};
                             },
                         .explain = explain_unslice});

// y = x[index]        dx[index] = dy, 0 elsewhere
const Op row_op = built_in(
    "row", {.forward =
                [](Inputs in, const Attributes& attributes) {
                  const Tensor& x = in[0];
                  const std::int64_t index = attributes.get<std::int64_t>("index");
                  Tensor y = empty(x.shape().without(0), x.dtype());
                  dispatch(x.dtype(), [&]<class T>(T) {
                    std::ranges::copy(x.values<T>().subspan(static_cast<std::size_t>(index * y.size()),
                                                            static_cast<std::size_t>(y.size())),
                                      y.writable<T>().begin());
                  });
                  return Computed(y);
                },
            .rule =
                [](const Step& s, const Tensor& dy, Needs) {
                  return Gradients{unslice(unsqueeze(dy, 0), 0, s.raw_input(0).size(0),
                                           s.attribute<std::int64_t>("index"))};
                },
            .zero = "cut off",
            .explain =
                [](Worksheet& sheet, std::int64_t element) {
                  const Step& s = sheet.step();
                  return sheet.input(0, s.attribute<std::int64_t>("index") * s.shape().size() + element);
                }});

}  // namespace

Tensor slice(const Located& x, int axis, std::int64_t start, std::int64_t stop, std::int64_t step) {
  const int resolved = x->shape().resolve(axis, "slice");
  const std::int64_t size = x->size(resolved);
  const std::int64_t first = start < 0 ? start + size : start, end = stop < 0 ? stop + size : stop;
  if (first < 0 || first > end || end > size)
    fail("[slice] {} to {} is not inside axis {} of shape {}, which has {} rows", start, stop, axis,
         x->shape(), size);
  if (step < 1) fail("[slice] the step is {}; need 1 or more", step);
  return sliced(x, resolved, {first, step, (end - first) / step + ((end - first) % step != 0)});
}

Tensor unslice(const Located& y, int axis, std::int64_t size, std::int64_t start, std::int64_t step) {
  const int resolved = y->shape().resolve(axis, "unslice");
  const std::int64_t count = y->size(resolved);
  if (step < 1 || start < 0 || start > size || (count > 0 && (count - 1) > (size - 1 - start) / step))
    fail("[unslice] {} rows from {} by {} do not fit into {}; y has shape {}", count, start, step, size,
         y->shape());
  return apply(unslice_op, {y},
               {{"axis", std::int64_t{resolved}}, {"size", size}, {"start", start}, {"step", step}});
}

std::vector<Tensor> split(const Located& x, std::span<const std::int64_t> sizes, int axis) {
  const int resolved = x->shape().resolve(axis, "split");
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) fail("[split] a part has size {}; sizes are 0 or more", size);
    if (size > std::numeric_limits<std::int64_t>::max() - total)
      fail("[split] the parts add up to more than axis {} of shape {} has: part sizes overflow", axis,
           x->shape());
    total += size;
  }
  if (total != x->size(resolved))
    fail("[split] the parts add up to {}; axis {} of shape {} has {}", total, axis, x->shape(),
         x->size(resolved));
  std::vector<Tensor> parts;
  std::int64_t start = 0;
  for (const std::int64_t size : sizes) {
    parts.push_back(sliced(x, resolved, {start, 1, size}));
    start += size;
  }
  return parts;
}

Tensor Tensor::operator[](RowIndex row) const {
  if (rank() == 0) fail("[row] a tensor of shape () has no rows");
  const std::int64_t index = row.index, resolved = index < 0 ? index + size(0) : index;
  if (resolved < 0 || resolved >= size(0))
    fail("[row] there is no row {} in shape {}: rows run from {} to {}", index, shape(), -size(0),
         size(0) - 1);
  return apply(row_op, Inputs(this, 1), {{"index", resolved}}, row.where);
}

}  // namespace pencil
