// max, min and argmax.

#include "autograd/kernels/reduce.hpp"
#include "autograd/ops/axes.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::all_axes;
using detail::axes_of;
using detail::axis_of;
using detail::built_in;
using detail::kept;
using detail::work_per_number;

namespace {

// The largest or smallest, one axis after the other.
template <bool largest>
Computed extreme_forward(Inputs in, const Attributes& attributes) {
  Tensor y = in[0];
  for (const std::int64_t axis : axes_of(attributes)) {
    const detail::Around around(y.shape(), static_cast<int>(axis));
    Tensor next = empty(y.shape().with(static_cast<int>(axis), 1), y.dtype());
    dispatch_float(y.dtype(), [&]<class T>(T) {
      const auto reduce = largest ? kernels::reduce_max<T> : kernels::reduce_min<T>;
      reduce(around.outer, around.size, around.inner, y.values<T>().data(), next.writable<T>().data());
    });
    y = next;
  }
  return with_shape(y, detail::result_shape(in[0].shape(), attributes));
}

Gradients extreme_rule(const Step& s, const Tensor& dy, Needs) {
  const Tensor& x = s.input(0);
  const Tensor hit = equal(x, kept(s, s.output()));
  const Tensor count = sum(hit.to(x.dtype()), detail::axes_argument(s.attributes()), true);
  const Tensor ties = maximum(count, 1);  // NaN equals nothing
  return {where(hit, kept(s, dy) / ties, 0)};
}

// y = max x        dx = dy / ties where x = y, else 0
const Op max_op = built_in("max", {.forward = extreme_forward<true>,
                                   .rule = extreme_rule,
                                   .work = work_per_number(1, 2),
                                   .zero = "not the largest",
                                   .explain = [](Worksheet& sheet, std::int64_t element) {
                                     return detail::largest(sheet, detail::reduced_numbers(sheet, element));
                                   }});
// y = min x        dx = dy / ties where x = y, else 0
const Op min_op = built_in("min", {.forward = extreme_forward<false>,
                                   .rule = extreme_rule,
                                   .work = work_per_number(1, 2),
                                   .zero = "not the smallest",
                                   .explain = [](Worksheet& sheet, std::int64_t element) {
                                     return detail::smallest(sheet, detail::reduced_numbers(sheet, element));
                                   }});

Computed argmax_forward(Inputs in, const Attributes& attributes) {
  const Tensor& x = in[0];
  const int axis = axis_of(attributes);
  const detail::Around around(x.shape(), axis);
  Tensor y = empty(x.shape().without(axis), i32);
  dispatch_float(x.dtype(), [&]<class T>(T) {
    kernels::argmax(around.outer, around.size, around.inner, x.values<T>().data(),
                    y.writable<std::int32_t>().data());
  });
  return y;
}

Worked explain_argmax(Worksheet& sheet, std::int64_t element) {
  const detail::Around around(sheet.step().input(0).shape(), axis_of(sheet.step().attributes()));
  const std::vector<Worked> x = detail::inputs_along(sheet, 0, around.line(element));
  return sheet.call("argmax", static_cast<double>(detail::first_largest(x)), x);
}

// y = the first i with x[i] = max x: a mark
const Op argmax_op = built_in("argmax", {.forward = argmax_forward, .explain = explain_argmax});

Tensor extreme(const Op& op, const Located& x, const Axes& axes, bool keep) {
  for (const std::int64_t axis : detail::resolved(op.word().c_str(), x->shape(), axes))
    if (x->size(static_cast<int>(axis)) == 0)
      fail("[{}] axis {} of shape {} is empty; nothing has no {}", op.word(), axis, x->shape(), op.word());
  return detail::reduced(op, x, axes, keep);
}

}  // namespace

Tensor max(const Located& x) { return extreme(max_op, x, all_axes(x), false); }
Tensor max(const Located& x, const Axes& axes, bool keep) { return extreme(max_op, x, axes, keep); }
Tensor min(const Located& x) { return extreme(min_op, x, all_axes(x), false); }
Tensor min(const Located& x, const Axes& axes, bool keep) { return extreme(min_op, x, axes, keep); }

Tensor argmax(const Located& x, int axis) {
  detail::need_float("argmax", x);
  const int resolved_axis = x->shape().resolve(axis, "argmax");
  if (x->size(resolved_axis) == 0)
    fail("[argmax] axis {} of shape {} is empty; nothing has no max", axis, x->shape());
  return apply(argmax_op, {x}, {{"axis", std::int64_t{resolved_axis}}});
}

}  // namespace pencil
