#include "autograd/ops/reduce.hpp"

#include <algorithm>
#include <limits>

#include "autograd/kernels/reduce.hpp"
#include "autograd/kernels/rows.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::axis_of;
using detail::built_in;
using detail::work_per_number;

namespace {

const std::vector<std::int64_t>& axes_of(const Attributes& attributes) {
  return attributes.get<std::vector<std::int64_t>>("axes");
}

Axes axes_argument(const Attributes& attributes) {
  const auto& axes = axes_of(attributes);
  return std::vector<int>(axes.begin(), axes.end());
}

// The shape with every reduced axis 1, and without them.
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

// How many numbers go into one of the result.
std::int64_t count_of(const Shape& shape, const Attributes& attributes) {
  std::int64_t count = 1;
  for (const std::int64_t axis : axes_of(attributes)) count *= shape[static_cast<int>(axis)];
  return count;
}

// A step's output, or its gradient, with the reduced axes back as 1: broadcasts against the input.
Tensor kept(const Step& s, const Tensor& y) {
  const Shape shape = kept_shape(s.raw_input(0).shape(), s.attributes());
  return y.shape() == shape ? y : reshape(y, shape);
}

Tensor summed(const Tensor& x, const Attributes& attributes) {
  Tensor y = empty(result_shape(x.shape(), attributes), x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    kernels::sum_to(x.rank(), x.shape().sizes().data(), kept_shape(x.shape(), attributes).sizes().data(),
                    x.values<T>().data(), y.writable<T>().data());
  });
  return y;
}

// y = Σ x        dx = dy
const Op sum_op = built_in(
    "sum", {.forward = [](Inputs in, const Attributes& a) { return Computed(summed(in[0], a)); },
            .rule = [](const Step& s, const Tensor& dy,
                       Needs) { return Gradients{broadcast_to(kept(s, dy), s.raw_input(0).shape())}; },
            .work = work_per_number(1, 0)});

// y = Σ x / n        dx = dy / n        (n = 0: 0)
const Op mean_op = built_in(
    "mean", {.forward =
                 [](Inputs in, const Attributes& attributes) {
                   Tensor y = summed(in[0], attributes);
                   const std::int64_t n = std::max<std::int64_t>(1, count_of(in[0].shape(), attributes));
                   dispatch_float(y.dtype(), [&]<class T>(T) {
                     for (T& mean : y.writable<T>()) mean /= static_cast<T>(n);
                   });
                   return Computed(y);
                 },
             .rule =
                 [](const Step& s, const Tensor& dy, Needs) {
                   const Shape& shape = s.raw_input(0).shape();
                   const Tensor each =
                       kept(s, dy) / std::max<std::int64_t>(1, count_of(shape, s.attributes()));
                   return Gradients{broadcast_to(each, shape)};
                 },
             .work = work_per_number(1, 0)});

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
  return with_shape(y, result_shape(in[0].shape(), attributes));
}

Gradients extreme_rule(const Step& s, const Tensor& dy, Needs) {
  const Tensor& x = s.input(0);
  const Tensor hit = equal(x, kept(s, s.output()));
  const Tensor count = sum(hit.to(x.dtype()), axes_argument(s.attributes()), true);
  const Tensor ties = maximum(count, 1);  // NaN equals nothing
  return {where(hit, kept(s, dy) / ties, 0)};
}

// y = max x        dx = dy / ties where x = y, else 0
const Op max_op = built_in("max", {.forward = extreme_forward<true>,
                                   .rule = extreme_rule,
                                   .work = work_per_number(1, 2),
                                   .zero = "not the largest"});
// y = min x        dx = dy / ties where x = y, else 0
const Op min_op = built_in("min", {.forward = extreme_forward<false>,
                                   .rule = extreme_rule,
                                   .work = work_per_number(1, 2),
                                   .zero = "not the smallest"});

Tensor deviations(const Tensor& x, const Attributes& attributes) {
  const Tensor middle = mean(x, axes_argument(attributes), true);
  return x - middle;
}

double freedom(const Shape& shape, const Attributes& attributes) {
  return static_cast<double>(count_of(shape, attributes)) - attributes.get<double>("correction");
}

Tensor variance(const Tensor& x, const Attributes& attributes) {
  const Tensor squares = square(deviations(x, attributes));
  return sum(squares, axes_argument(attributes), attributes.get<bool>("keep")) /
         freedom(x.shape(), attributes);
}

// y = Σ (x − mean)² / f        dx = dy · 2 (x − mean) / f        (f = n − correction)
const Op var_op =
    built_in("var", {.forward = [](Inputs in, const Attributes& a) { return Computed(variance(in[0], a)); },
                     .rule =
                         [](const Step& s, const Tensor& dy, Needs) {
                           const Tensor& x = s.input(0);
                           const Tensor each = kept(s, dy) * (2 / freedom(x.shape(), s.attributes()));
                           return Gradients{each * deviations(x, s.attributes())};
                         },
                     .work = work_per_number(4, 3),
                     .zero = "all the same"});

// dy / y, and 0 where y is 0.
Tensor over_root(const Step& s, const Tensor& dy) {
  const Tensor y = kept(s, s.output());
  const Tensor zero = equal(y, 0);
  const Tensor ratio = kept(s, dy) / masked_fill(y, zero, 1);
  return masked_fill(ratio, zero, 0);
}

// y = √(Σ (x − mean)² / f)        dx = dy / y · (x − mean) / f, 0 where y = 0
const Op std_op = built_in(
    "std", {.forward = [](Inputs in, const Attributes& a) { return Computed(sqrt(variance(in[0], a))); },
            .rule =
                [](const Step& s, const Tensor& dy, Needs) {
                  const Tensor& x = s.input(0);
                  const Tensor each = over_root(s, dy) / freedom(x.shape(), s.attributes());
                  return Gradients{each * deviations(x, s.attributes())};
                },
            .work = work_per_number(4, 3),
            .zero = "all the same"});

// y = √Σx²        dx = dy / y · x, 0 where y = 0
const Op norm_op = built_in("norm", {.forward =
                                         [](Inputs in, const Attributes& attributes) {
                                           return Computed(sqrt(summed(square(in[0]), attributes)));
                                         },
                                     .rule = [](const Step& s, const Tensor& dy,
                                                Needs) { return Gradients{over_root(s, dy) * s.input(0)}; },
                                     .work = work_per_number(2, 1),
                                     .zero = "all 0"});

// Where y is −∞ every x is, and e^(x − 0) is the 0 that e^(x − y) cannot say.
Tensor finite_or_zero(const Tensor& m) {
  return masked_fill(m, equal(abs(m), std::numeric_limits<double>::infinity()), 0);
}

Computed logsumexp_forward(Inputs in, const Attributes& attributes) {
  const Tensor x = detail::axis_to_end(in[0], static_cast<int>(axes_of(attributes)[0]));
  Tensor y = empty(result_shape(in[0].shape(), attributes), x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    kernels::logsumexp(y.size(), x.size(-1), x.values<T>().data(), y.writable<T>().data());
  });
  return y;
}

// y = log Σ eˣ        dx = dy · e^(x − y)
const Op logsumexp_op = built_in("logsumexp", {.forward = logsumexp_forward,
                                               .rule =
                                                   [](const Step& s, const Tensor& dy, Needs) {
                                                     const Tensor total = finite_or_zero(kept(s, s.output()));
                                                     const Tensor fractions = exp(s.input(0) - total);
                                                     return Gradients{kept(s, dy) * fractions};
                                                   },
                                               .work = work_per_number(3, 3)});

Tensor running_sum(const Tensor& x, int axis, bool reverse);

// y[i] = x[0] + … + x[i]        dx[i] = dy[i] + … + dy[n − 1]        (the other way round where reversed)
const Op cumsum_op = built_in(
    "cumsum",
    {.forward =
         [](Inputs in, const Attributes& attributes) {
           const Tensor& x = in[0];
           const detail::Around around(x.shape(), axis_of(attributes));
           Tensor y = empty(x.shape(), x.dtype());
           dispatch_float(x.dtype(), [&]<class T>(T) {
             kernels::cumulative_sum(around.outer, around.size, around.inner, attributes.get<bool>("reverse"),
                                     x.values<T>().data(), y.writable<T>().data());
           });
           return Computed(y);
         },
     .rule =
         [](const Step& s, const Tensor& dy, Needs) {
           return Gradients{running_sum(dy, axis_of(s.attributes()), !s.attribute<bool>("reverse"))};
         },
     .work = work_per_number(1, 1)});

Tensor running_sum(const Tensor& x, int axis, bool reverse) {
  return apply(cumsum_op, {x}, {{"axis", std::int64_t{axis}}, {"reverse", reverse}});
}

// y = the first i with x[i] = max x: a mark
const Op argmax_op = built_in("argmax", {.forward = [](Inputs in, const Attributes& attributes) {
                                const Tensor& x = in[0];
                                const int axis = axis_of(attributes);
                                const detail::Around around(x.shape(), axis);
                                Tensor y = empty(x.shape().without(axis), i32);
                                dispatch_float(x.dtype(), [&]<class T>(T) {
                                  kernels::argmax(around.outer, around.size, around.inner,
                                                  x.values<T>().data(), y.writable<std::int32_t>().data());
                                });
                                return Computed(y);
                              }});

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
  detail::need_float(op.word().c_str(), x);
  return apply(op, {x}, {{"axes", resolved(op.word().c_str(), x->shape(), axes)}, {"keep", keep}});
}

Tensor extreme(const Op& op, const Located& x, const Axes& axes, bool keep) {
  for (const std::int64_t axis : resolved(op.word().c_str(), x->shape(), axes))
    if (x->size(static_cast<int>(axis)) == 0)
      fail("[{}] axis {} of shape {} is empty; nothing has no {}", op.word(), axis, x->shape(), op.word());
  return reduced(op, x, axes, keep);
}

Tensor spread_of(const Op& op, const Located& x, const Axes& axes, bool keep, double correction) {
  const char* who = op.word().c_str();
  detail::need_float(who, x);
  const Attributes attributes{
      {"axes", resolved(who, x->shape(), axes)}, {"keep", keep}, {"correction", correction}};
  if (!(freedom(x->shape(), attributes) > 0))
    fail(
        "[{}] {} numbers of shape {} with correction {}: would divide by {}; need more numbers than the "
        "correction",
        who, count_of(x->shape(), attributes), x->shape(), correction, freedom(x->shape(), attributes));
  return apply(op, {x}, attributes);
}

}  // namespace

Tensor sum(const Located& x) { return reduced(sum_op, x, all_axes(x), false); }
Tensor sum(const Located& x, const Axes& axes, bool keep) { return reduced(sum_op, x, axes, keep); }
Tensor mean(const Located& x) { return reduced(mean_op, x, all_axes(x), false); }
Tensor mean(const Located& x, const Axes& axes, bool keep) { return reduced(mean_op, x, axes, keep); }
Tensor max(const Located& x) { return extreme(max_op, x, all_axes(x), false); }
Tensor max(const Located& x, const Axes& axes, bool keep) { return extreme(max_op, x, axes, keep); }
Tensor min(const Located& x) { return extreme(min_op, x, all_axes(x), false); }
Tensor min(const Located& x, const Axes& axes, bool keep) { return extreme(min_op, x, axes, keep); }
Tensor var(const Located& x) { return spread_of(var_op, x, all_axes(x), false, 1); }
Tensor var(const Located& x, const Axes& axes, bool keep, double correction) {
  return spread_of(var_op, x, axes, keep, correction);
}
Tensor stddev(const Located& x) { return spread_of(std_op, x, all_axes(x), false, 1); }
Tensor stddev(const Located& x, const Axes& axes, bool keep, double correction) {
  return spread_of(std_op, x, axes, keep, correction);
}
Tensor norm(const Located& x) { return reduced(norm_op, x, all_axes(x), false); }
Tensor norm(const Located& x, const Axes& axes, bool keep) { return reduced(norm_op, x, axes, keep); }
Tensor logsumexp(const Located& x, int axis, bool keep) { return reduced(logsumexp_op, x, axis, keep); }

Tensor cumsum(const Located& x, int axis) {
  detail::need_float("cumsum", x);
  const int resolved_axis = x->shape().resolve(axis, "cumsum");
  return apply(cumsum_op, {x}, {{"axis", std::int64_t{resolved_axis}}, {"reverse", false}});
}

Tensor argmax(const Located& x, int axis) {
  detail::need_float("argmax", x);
  const int resolved_axis = x->shape().resolve(axis, "argmax");
  if (x->size(resolved_axis) == 0)
    fail("[argmax] axis {} of shape {} is empty; nothing has no max", axis, x->shape());
  return apply(argmax_op, {x}, {{"axis", std::int64_t{resolved_axis}}});
}

}  // namespace pencil
