#include "autograd/ops/shape_ops.hpp"

#include <algorithm>

#include "autograd/kernels/layout.hpp"
#include "autograd/kernels/reduce.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::built_in;
using detail::permuted;
using detail::shape_of;

namespace {

// y = x under another shape        dx = dy under x's
OpParts same_numbers() {
  return {.forward =
              [](Inputs in, const Attributes& attributes) {
                return Computed(with_shape(in[0], shape_of(attributes, "shape")));
              },
          .rule = [](const Step& s, const Tensor& dy,
                     Needs) { return Gradients{reshape(dy, s.raw_input(0).shape())}; },
          .explain = detail::same_place};
}
const Op reshape_op = built_in("reshape", same_numbers());
const Op squeeze_op = built_in("squeeze", same_numbers());
const Op unsqueeze_op = built_in("unsqueeze", same_numbers());

// y[…, j, i] = x[…, i, j]        dx[…, i, j] = dy[…, j, i]
const Op transpose_op = built_in(
    "transpose", {.forward =
                      [](Inputs in, const Attributes&) {
                        std::array<int, Shape::max_rank> axes;
                        const int rank = in[0].rank();
                        for (int i = 0; i < rank; ++i) axes[static_cast<std::size_t>(i)] = i;
                        std::swap(axes[static_cast<std::size_t>(rank - 1)],
                                  axes[static_cast<std::size_t>(rank - 2)]);
                        return Computed(permuted(in[0], std::span(axes).first(in[0].shape().sizes().size())));
                      },
                  .rule = [](const Step&, const Tensor& dy, Needs) { return Gradients{transpose(dy)}; },
                  .explain =
                      [](Worksheet& sheet, std::int64_t element) {
                        const Shape& y = sheet.step().shape();
                        const std::int64_t matrix = y[-2] * y[-1], at = element % matrix;
                        return sheet.input(0, element - at + at % y[-1] * y[-2] + at / y[-1]);
                      }});

std::vector<int> axes_of(const Attributes& attributes) {
  const auto& axes = attributes.get<std::vector<std::int64_t>>("axes");
  return {axes.begin(), axes.end()};
}

Worked explain_permute(Worksheet& sheet, std::int64_t element) {
  const Shape &y = sheet.step().shape(), &x = sheet.step().input(0).shape();
  const std::vector<int> axes = axes_of(sheet.step().attributes());
  std::int64_t place = 0;
  for (int axis = y.rank() - 1; axis >= 0; --axis) {
    place += element % y[axis] * detail::Around(x, axes[static_cast<std::size_t>(axis)]).inner;
    element /= y[axis];
  }
  return sheet.input(0, place);
}

// Axis i of y is axis axes[i] of x        dx: axis axes[i] is axis i of dy
const Op permute_op = built_in(
    "permute",
    {.forward = [](Inputs in,
                   const Attributes& attributes) { return Computed(permuted(in[0], axes_of(attributes))); },
     .rule =
         [](const Step& s, const Tensor& dy, Needs) {
           const std::vector<int> axes = axes_of(s.attributes());
           std::vector<int> inverse(axes.size());
           for (std::size_t i = 0; i < axes.size(); ++i)
             inverse[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
           return Gradients{permute(dy, inverse)};
         },
     .explain = explain_permute});

// y = x repeated        dx = dy summed over what was repeated
const Op broadcast_op = built_in(
    "broadcast_to",
    {.forward =
         [](Inputs in, const Attributes& attributes) {
           return Computed(detail::spread_copy(in[0], shape_of(attributes, "shape")));
         },
     .rule = [](const Step& s, const Tensor& dy,
                Needs) { return Gradients{sum_to(dy, s.raw_input(0).shape())}; },
     .explain = [](Worksheet& sheet, std::int64_t element) { return sheet.broadcast_input(0, element); }});

Computed sum_to_forward(Inputs in, const Attributes& attributes) {
  const Tensor& x = in[0];
  const Shape shape = shape_of(attributes, "shape");
  std::array<std::int64_t, Shape::max_rank> to;
  to.fill(1);
  std::ranges::copy(shape, to.begin() + (x.rank() - shape.rank()));
  Tensor y = empty(shape, x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    kernels::sum_to(x.rank(), x.shape().sizes().data(), to.data(), x.values<T>().data(),
                    y.writable<T>().data());
  });
  return y;
}

// y = x summed over what a broadcast repeated        dx = dy repeated
const Op sum_to_op =
    built_in("sum_to", {.forward = sum_to_forward,
                        .rule = [](const Step& s, const Tensor& dy,
                                   Needs) { return Gradients{broadcast_to(dy, s.raw_input(0).shape())}; },
                        .explain =
                            [](Worksheet& sheet, std::int64_t element) {
                              const Step& s = sheet.step();
                              return sheet.sum(detail::inputs_at(
                                  sheet, 0, detail::summed_places(s.input(0).shape(), s.shape(), element)));
                            }});

}  // namespace

Tensor reshape(const Located& x, const Shape& shape) {
  if (x->size() != shape.size())
    fail("[reshape] {} holds {} numbers and {} holds {}; they must agree", x->shape(), x->size(), shape,
         shape.size());
  return apply(reshape_op, {x}, {{"shape", detail::sizes(shape)}});
}

Tensor reshape(const Located& x, std::initializer_list<std::int64_t> given) {
  std::vector<std::int64_t> sizes(given);
  const auto open = std::ranges::find(sizes, -1);
  if (open != sizes.end()) {
    *open = 1;
    if (std::ranges::find(sizes, -1) != sizes.end()) fail("[reshape] only one size may be -1");
    const std::int64_t known = Shape(std::span<const std::int64_t>(sizes)).size();
    if (known == 0 || x->size() % known != 0)
      fail(
          "[reshape] {} holds {} numbers; the size left open (-1, axis {}) cannot be worked out: the others "
          "multiply to {}",
          x->shape(), x->size(), open - sizes.begin(), known);
    *open = x->size() / known;
  }
  return reshape(x, Shape(std::span<const std::int64_t>(sizes)));
}

Tensor transpose(const Located& x) {
  if (x->rank() < 2) fail("[transpose] swaps the last two axes; the tensor has shape {}", x->shape());
  return apply(transpose_op, {x});
}

Tensor permute(const Located& x, std::span<const int> axes) {
  if (static_cast<int>(axes.size()) != x->rank())
    fail("[permute] {} axes were given for shape {}; need each of its {} once", axes.size(), x->shape(),
         x->rank());
  std::vector<std::int64_t> order;
  for (const int axis : axes) {
    const std::int64_t resolved = x->shape().resolve(axis, "permute");
    if (std::ranges::find(order, resolved) != order.end())
      fail("[permute] axis {} of shape {} was given twice; need each once", axis, x->shape());
    order.push_back(resolved);
  }
  return apply(permute_op, {x}, {{"axes", std::move(order)}});
}

Tensor squeeze(const Located& x) {
  std::vector<std::int64_t> rest;
  std::ranges::copy_if(x->shape(), std::back_inserter(rest), [](std::int64_t size) { return size != 1; });
  return apply(squeeze_op, {x}, {{"shape", std::move(rest)}});
}

Tensor squeeze(const Located& x, int axis) {
  const int resolved = x->shape().resolve(axis, "squeeze");
  if (x->size(resolved) != 1)
    fail("[squeeze] axis {} of shape {} has size {}; only an axis of size 1 can go", axis, x->shape(),
         x->size(resolved));
  return apply(squeeze_op, {x}, {{"shape", detail::sizes(x->shape().without(resolved))}});
}

Tensor unsqueeze(const Located& x, int axis) {
  return apply(unsqueeze_op, {x}, {{"shape", detail::sizes(x->shape().inserted(axis, 1))}});
}

Tensor broadcast_to(const Located& x, const Shape& shape) {
  if (x->shape() == shape) return x;
  if (broadcast(x->shape(), shape, "broadcast_to") != shape)
    fail("[broadcast_to] {} does not broadcast to {}: only sizes of 1 stretch", x->shape(), shape);
  return apply(broadcast_op, {x}, {{"shape", detail::sizes(shape)}});
}

Tensor sum_to(const Located& x, const Shape& shape) {
  if (x->shape() == shape) return x;
  detail::need_float("sum_to", x);
  if (broadcast(shape, x->shape(), "sum_to") != x->shape())
    fail("[sum_to] {} does not sum to {}: that does not broadcast to it", x->shape(), shape);
  return apply(sum_to_op, {x}, {{"shape", detail::sizes(shape)}});
}

}  // namespace pencil
