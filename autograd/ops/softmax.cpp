#include "autograd/ops/softmax.hpp"

#include <cmath>

#include "autograd/kernels/rows.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::Around;
using detail::axis_from_end;
using detail::axis_of;
using detail::axis_to_end;
using detail::built_in;
using detail::work_per_number;

namespace {

// How many rows of the last axis.
std::int64_t rows_of(const Tensor& x) { return x.shape().without(-1).size(); }

// The mask of a masked softmax over the whole shape of x; no tensor where there is none.
Tensor mask_over(Inputs in, std::size_t at, const Shape& shape) {
  return in.size() > at ? detail::spread(in[at], shape) : Tensor();
}
const std::int32_t* numbers(const Tensor& mask) {
  return mask.defined() ? mask.values<std::int32_t>().data() : nullptr;
}

Tensor fractions(Inputs in, int axis) {
  const Tensor x = axis_to_end(in[0], axis);
  const Tensor mask = mask_over(in, 1, x.shape());
  Tensor y = empty(x.shape(), x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    kernels::softmax(rows_of(x), x.size(-1), numbers(mask), x.values<T>().data(), y.writable<T>().data());
  });
  return axis_from_end(y, axis);
}

// The numbers beside the one asked for, itself among them, that no mask hides.
struct SeenRow {
  std::vector<std::int64_t> places;
  std::int64_t asked = -1;  // which of them is asked for; −1 where it is hidden itself
};
SeenRow seen_row(Worksheet& sheet, int mask, std::int64_t element) {
  const Step& s = sheet.step();
  const detail::Line line = Around(s.shape(), axis_of(s.attributes())).through(element);
  SeenRow row;
  for (std::int64_t i = 0; i < line.count; ++i) {
    const std::int64_t place = line.at(i);
    if (s.inputs() > mask && sheet.read(mask, sheet.broadcast_place(mask, place)) == 0) continue;
    if (place == element) row.asked = static_cast<std::int64_t>(row.places.size());
    row.places.push_back(place);
  }
  detail::note_hidden(sheet, line.count - std::ssize(row.places), line.count);
  return row;
}

Worked hidden(Worksheet& sheet) {
  sheet.note("0: hidden by the mask");
  return 0;
}

Worked explain_softmax(Worksheet& sheet, std::int64_t element) {
  const SeenRow row = seen_row(sheet, 1, element);
  if (row.asked < 0) return hidden(sheet);
  const std::vector<Worked> x = detail::inputs_at(sheet, 0, row.places);
  if (sheet.step().inputs() == 2 && detail::nothing_to_share(sheet, x)) return 0;
  const detail::BlownUp e = detail::blown_up(sheet, x, sheet.step().dtype(), true);
  detail::note_shift(sheet, x, e);
  return e.each[static_cast<std::size_t>(row.asked)] / e.total;
}

// y, dy and perhaps the mask
Computed softmax_gradient_forward(Inputs in, const Attributes& attributes) {
  const int axis = axis_of(attributes);
  const Tensor y = axis_to_end(in[0], axis), dy = axis_to_end(in[1], axis);
  const Tensor mask = mask_over(in, 2, y.shape());
  Tensor dx = empty(y.shape(), y.dtype());
  dispatch_float(y.dtype(), [&]<class T>(T) {
    kernels::softmax_gradient(rows_of(y), y.size(-1), numbers(mask), y.values<T>().data(),
                              dy.values<T>().data(), dx.writable<T>().data());
  });
  return axis_from_end(dx, axis);
}

Gradients softmax_gradient_rule(const Step& s, const Tensor& u, Needs needs) {
  const int axis = axis_of(s.attributes());
  const Tensor& y = s.input(0);
  Gradients gradients(static_cast<std::size_t>(s.inputs()));
  if (needs[0]) {
    Tensor dy = s.input(1);
    if (s.inputs() == 3) dy = where(s.input(2), dy, 0);
    const Tensor total = sum(y * dy, axis, true);
    const Tensor turned = sum(y * u, axis, true);
    const Tensor first = u * (dy - total);
    const Tensor second = turned * dy;
    gradients[0] = first - second;
  }
  if (needs[1]) {
    std::vector<Tensor> inputs{y, u};
    if (s.inputs() == 3) inputs.push_back(s.input(2));
    gradients[1] = apply(s.op(), inputs, s.attributes(), Where::current());
  }
  return gradients;
}

Worked explain_softmax_gradient(Worksheet& sheet, std::int64_t element) {
  const SeenRow row = seen_row(sheet, 2, element);
  if (row.asked < 0) return hidden(sheet);
  std::vector<Worked> products;
  for (const std::int64_t place : row.places)
    products.push_back(sheet.input(0, place) * sheet.input(1, place));
  const Worked average = sheet.line("average gradient", sheet.sum(products));
  return sheet.input(0, element) * (sheet.input(1, element) - average);
}

// dx = y (dy − Σ y dy)        dy' = u (dy − Σ y dy) − dy Σ y u        ddy = y (u − Σ y u)
const Op softmax_gradient_op = built_in("softmax_gradient", {.forward = softmax_gradient_forward,
                                                             .rule = softmax_gradient_rule,
                                                             .work = work_per_number(4, 8),
                                                             .explain = explain_softmax_gradient});

// y = eˣ / Σ eˣ        dx = y (dy − Σ y dy)
const Op softmax_op = built_in(
    "softmax", {.forward = [](Inputs in, const Attributes& a) { return Computed(fractions(in, axis_of(a))); },
                .rule =
                    [](const Step& s, const Tensor& dy, Needs) {
                      return Gradients{apply(softmax_gradient_op, {s.output(), dy}, s.attributes())};
                    },
                .work = work_per_number(4, 4),
                .zero = "saturated",
                .explain = explain_softmax});

// The same where the mask is not 0; 0 elsewhere
const Op masked_softmax_op =
    built_in("masked_softmax",
             {.forward = [](Inputs in, const Attributes& a) { return Computed(fractions(in, axis_of(a))); },
              .rule =
                  [](const Step& s, const Tensor& dy, Needs) {
                    return Gradients{apply(softmax_gradient_op, {s.output(), dy, s.input(1)}, s.attributes()),
                                     Tensor()};
                  },
              .work = work_per_number(4, 4),
              .zero = "masked, or saturated",
              .explain = explain_softmax});

Worked explain_log_softmax(Worksheet& sheet, std::int64_t element) {
  const Step& s = sheet.step();
  const Around around(s.shape(), axis_of(s.attributes()));
  const std::vector<Worked> x = detail::inputs_along(sheet, 0, around.through(element));
  const detail::BlownUp e = detail::blown_up(sheet, x, s.dtype(), false);
  detail::note_shift(sheet, x, e);
  return x[static_cast<std::size_t>(around.index(element))] - e.shift - log(e.total);
}

// y = x − log Σ eˣ        dx = dy − e^y Σ dy
const Op log_softmax_op =
    built_in("log_softmax", {.forward =
                                 [](Inputs in, const Attributes& attributes) {
                                   const int axis = axis_of(attributes);
                                   const Tensor x = axis_to_end(in[0], axis);
                                   Tensor y = empty(x.shape(), x.dtype());
                                   dispatch_float(x.dtype(), [&]<class T>(T) {
                                     kernels::log_softmax(rows_of(x), x.size(-1), x.values<T>().data(),
                                                          y.writable<T>().data());
                                   });
                                   return Computed(axis_from_end(y, axis));
                                 },
                             .rule =
                                 [](const Step& s, const Tensor& dy, Needs) {
                                   const Tensor total = sum(dy, axis_of(s.attributes()), true);
                                   return Gradients{dy - exp(s.output()) * total};
                                 },
                             .work = work_per_number(4, 4),
                             .zero = "saturated",
                             .explain = explain_log_softmax});

Computed layer_norm_forward(Inputs in, const Attributes& attributes) {
  const Tensor& x = in[0];
  const Shape rows = x.shape().without(-1);
  Tensor y = empty(x.shape(), x.dtype()), middle = empty(rows, x.dtype()), rstd = empty(rows, x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    kernels::layer_norm(rows.size(), x.size(-1), static_cast<T>(attributes.get<double>("epsilon")),
                        x.values<T>().data(), in[1].values<T>().data(), in[2].values<T>().data(),
                        y.writable<T>().data(), middle.writable<T>().data(), rstd.writable<T>().data());
  });
  return {y, {middle, rstd}};
}

Gradients layer_norm_rule(const Step& s, const Tensor& dy, Needs needs) {
  const Tensor &x = s.input(0), &weight = s.input(1);
  Gradients gradients(3);
  if (needs[0]) gradients[0] = empty(x.shape(), x.dtype());
  if (needs[1] || needs[2])
    for (const std::size_t i : {1u, 2u}) gradients[i] = empty(weight.shape(), x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    const auto numbers_of = [&](std::size_t i) {
      return gradients[i].defined() ? gradients[i].writable<T>().data() : nullptr;
    };
    kernels::layer_norm_gradient(rows_of(x), x.size(-1), x.values<T>().data(), s.saved(0).values<T>().data(),
                                 s.saved(1).values<T>().data(), weight.values<T>().data(),
                                 dy.values<T>().data(), numbers_of(0), numbers_of(1), numbers_of(2));
  });
  return gradients;
}

// Forward mean 1, x − mean 1, its square and their sum 2, · r 1, · w 1, + b 1; back g 1, x̂ 2, both means 3,
// dx 4.
Work layer_norm_work(const WorkSizes& sizes, const Attributes&) {
  const auto numbers = static_cast<double>(sizes.output.size());
  return {7 * numbers, numbers * (10 * sizes.needs[0] + 2 * sizes.needs[1] + sizes.needs[2])};
}

Worked explain_layer_norm(Worksheet& sheet, std::int64_t element) {
  const std::int64_t width = sheet.step().shape()[-1], column = element % width;
  const std::vector<Worked> x = detail::inputs_along(sheet, 0, {element - column, 1, width});
  const Worked middle = sheet.line("mean", detail::mean_of(sheet, x));
  std::vector<Worked> squares;
  for (const Worked& each : x) squares.push_back(pow(each - middle, 2));
  const Worked variance = sheet.line("variance", detail::mean_of(sheet, squares));
  const Worked deviation = sqrt(variance + sheet.step().attribute<double>("epsilon"));
  const Worked normal = (x[static_cast<std::size_t>(column)] - middle) / deviation;
  return normal * sheet.input(1, column) + sheet.input(2, column);
}

// y = (x − mean) r w + b, r = 1 / √(variance + ε)
// dx = r (g − mean g − x̂ mean (g x̂)) with g = dy w, x̂ = (x − mean) r        dw = Σ dy x̂        db = Σ dy
const Op layer_norm_op =
    built_in("layer_norm", {.forward = layer_norm_forward,
                            .rule = layer_norm_rule,
                            .composed =
                                [](Inputs in, const Attributes& attributes) {
                                  const Tensor middle = mean(in[0], -1, true);
                                  const Tensor centred = in[0] - middle;
                                  const Tensor variance = mean(square(centred), -1, true);
                                  const Tensor rstd = rsqrt(variance + attributes.get<double>("epsilon"));
                                  const Tensor normal = centred * rstd;
                                  const Tensor scaled = normal * in[1];
                                  return scaled + in[2];
                                },
                            .work = layer_norm_work,
                            .zero = "multiplied by 0",
                            .explain = explain_layer_norm});

int float_axis(const char* who, const Tensor& x, int axis) {
  detail::need_float(who, x);
  return x.shape().resolve(axis, who);
}

}  // namespace

Tensor softmax(const Located& x, int axis) {
  return apply(softmax_op, {x}, {{"axis", std::int64_t{float_axis("softmax", x, axis)}}});
}

Tensor masked_softmax(const Located& x, const Located& mask) {
  const std::int64_t last = float_axis("masked_softmax", x, -1);
  detail::need_i32("masked_softmax", "mask", mask);
  if (broadcast(x->shape(), mask->shape(), "masked_softmax") != x->shape())
    fail("[masked_softmax] the mask {} does not broadcast to the tensor {}", mask->shape(), x->shape());
  return apply(masked_softmax_op, {x, mask}, {{"axis", last}});
}

Tensor log_softmax(const Located& x, int axis) {
  return apply(log_softmax_op, {x}, {{"axis", std::int64_t{float_axis("log_softmax", x, axis)}}});
}

Tensor layer_norm(const Located& x, const Located& weight, const Located& bias, double epsilon) {
  float_axis("layer_norm", x, -1);
  detail::need_floats("layer_norm", x, weight);
  detail::need_floats("layer_norm", x, bias);
  if (!(epsilon >= 0) || std::isinf(epsilon))
    fail("[layer_norm] epsilon is {}; need a finite number from 0", epsilon);
  const Shape width{x->size(-1)};
  if (weight->shape() != width || bias->shape() != width)
    fail("[layer_norm] weight and bias must be {}, as the last axis of {}; they have shapes {} and {}", width,
         x->shape(), weight->shape(), bias->shape());
  return apply(layer_norm_op, {x, weight, bias}, {{"epsilon", epsilon}});
}

}  // namespace pencil
