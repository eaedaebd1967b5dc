#include "autograd/ops/reduce.hpp"

#include <algorithm>
#include <limits>

#include "autograd/kernels/reduce.hpp"
#include "autograd/kernels/rows.hpp"
#include "autograd/ops/axes.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::all_axes;
using detail::axes_argument;
using detail::axes_of;
using detail::axis_of;
using detail::built_in;
using detail::count_of;
using detail::kept;
using detail::kept_shape;
using detail::reduced;
using detail::reduced_numbers;
using detail::result_shape;
using detail::work_per_number;

namespace {

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
            .work = work_per_number(1, 0),
            .explain = [](Worksheet& sheet,
                          std::int64_t element) { return sheet.sum(reduced_numbers(sheet, element)); }});

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
             .work = work_per_number(1, 0),
             .explain =
                 [](Worksheet& sheet, std::int64_t element) {
                   return detail::mean_of(sheet, reduced_numbers(sheet, element));
                 }});

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

Worked explain_variance(Worksheet& sheet, std::int64_t element) {
  const std::vector<Worked> x = reduced_numbers(sheet, element);
  const Worked middle = sheet.line("mean", detail::mean_of(sheet, x));
  std::vector<Worked> squares;
  for (const Worked& each : x) squares.push_back(pow(each - middle, 2));
  return sheet.sum(squares) / freedom(sheet.step().input(0).shape(), sheet.step().attributes());
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
                     .zero = "all the same",
                     .explain = explain_variance});

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
            .zero = "all the same",
            .explain =
                [](Worksheet& sheet, std::int64_t element) {
                  return sqrt(sheet.line("variance", explain_variance(sheet, element)));
                }});

Worked explain_norm(Worksheet& sheet, std::int64_t element) {
  std::vector<Worked> squares;
  for (const Worked& each : reduced_numbers(sheet, element)) squares.push_back(pow(each, 2));
  return sqrt(sheet.sum(squares));
}

// y = √Σx²        dx = dy / y · x, 0 where y = 0
const Op norm_op = built_in("norm", {.forward =
                                         [](Inputs in, const Attributes& attributes) {
                                           return Computed(sqrt(summed(square(in[0]), attributes)));
                                         },
                                     .rule = [](const Step& s, const Tensor& dy,
                                                Needs) { return Gradients{over_root(s, dy) * s.input(0)}; },
                                     .work = work_per_number(2, 1),
                                     .zero = "all 0",
                                     .explain = explain_norm});

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
const Op logsumexp_op =
    built_in("logsumexp", {.forward = logsumexp_forward,
                           .rule =
                               [](const Step& s, const Tensor& dy, Needs) {
                                 const Tensor total = finite_or_zero(kept(s, s.output()));
                                 const Tensor fractions = exp(s.input(0) - total);
                                 return Gradients{kept(s, dy) * fractions};
                               },
                           .work = work_per_number(3, 3),
                           .explain =
                               [](Worksheet& sheet, std::int64_t element) {
                                 return detail::log_of_total(sheet, reduced_numbers(sheet, element),
                                                             sheet.step().dtype());
                               }});

Tensor running_sum(const Tensor& x, int axis, bool reverse);

Worked explain_cumsum(Worksheet& sheet, std::int64_t element) {
  const detail::Around around(sheet.step().shape(), axis_of(sheet.step().attributes()));
  detail::Line line = around.through(element);
  const std::int64_t at = around.index(element);
  line.count = at + 1;
  if (sheet.step().attribute<bool>("reverse")) line = {element, around.inner, around.size - at};
  return sheet.sum(detail::inputs_along(sheet, 0, line));
}

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
     .work = work_per_number(1, 1),
     .explain = explain_cumsum});

Tensor running_sum(const Tensor& x, int axis, bool reverse) {
  return apply(cumsum_op, {x}, {{"axis", std::int64_t{axis}}, {"reverse", reverse}});
}

Tensor spread_of(const Op& op, const Located& x, const Axes& axes, bool keep, double correction) {
  const char* who = op.word().c_str();
  detail::need_float(who, x);
  const Attributes attributes{
      {"axes", detail::resolved(who, x->shape(), axes)}, {"keep", keep}, {"correction", correction}};
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

}  // namespace pencil
