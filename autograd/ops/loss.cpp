#include "autograd/ops/loss.hpp"

#include <algorithm>

#include "autograd/create.hpp"
#include "autograd/kernels/indexing.hpp"
#include "autograd/kernels/rows.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/ops/index.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/softmax.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::built_in;
using detail::work_per_number;

namespace {

constexpr double least_chance = 1e-7;

// How many numbers a mean is over, with nothing counted as one: dy / n stays finite.
std::int64_t count(const Tensor& x) { return std::max<std::int64_t>(1, x.size()); }

// Labels as numbers of p's dtype under p's shape; on the tape a constant.
Tensor labels_like(const Tensor& labels, const Tensor& p) {
  return with_shape(labels.to(p.dtype()), p.shape());
}

// The arithmetic of a mean over what each(sheet, row) says of the loss of a row.
template <Worked (*each)(Worksheet&, std::int64_t row)>
Worked mean_over_rows(Worksheet& sheet, std::int64_t) {
  const std::int64_t rows = sheet.step().input(1).size();
  std::vector<Worked> losses;
  for (std::int64_t i = 0; i < rows; ++i) losses.push_back(each(sheet, i));
  return detail::mean_of(sheet, losses);
}

// −1 where the label is 1, 1 where it is 0.
Tensor signs(const Tensor& labels, const Tensor& p) { return 1 - 2 * labels_like(labels, p); }

// −log(chance given to what came true), for a logit z and its label.
Worked explain_logit(Worksheet& sheet, std::int64_t i) {
  const Worked z = sheet.input(0, i), against = sheet.read(1, i) != 0 ? -z : z;
  if (detail::blows_up_beyond(against.value(), sheet.step().input(0).dtype()))
    return against + log1p(exp(-against));  // the chance itself is too small
  const Worked chance = 1 / (1 + exp(against));
  return -log(sheet.line("chance of the label", chance));
}

// y = mean softplus(s z), s = 1 − 2 label        dz = dy s sigmoid(s z) / n, which is dy (sigmoid(z) − label)
// / n
const Op bce_logits_op = built_in(
    "binary_cross_entropy_with_logits",
    {.forward = [](Inputs in,
                   const Attributes&) { return Computed(mean(softplus(signs(in[1], in[0]) * in[0]))); },
     .rule =
         [](const Step& s, const Tensor& dy, Needs) {
           const Tensor& z = s.input(0);
           const Tensor sign = signs(s.input(1), z);
           const Tensor wrong = sigmoid(sign * z);
           const Tensor each = dy / count(z) * sign;
           return Gradients{each * wrong, Tensor()};
         },
     .work = work_per_number(3, 3),
     .role = "loss",
     .constant = 0b10,
     .explain = mean_over_rows<explain_logit>});

// The chance given to what came true.
Tensor chance(const Tensor& p, const Tensor& labels) {
  const Tensor clipped = clamp(p, least_chance, 1 - least_chance);
  return where(not_equal(labels_like(labels, p), 0), clipped, 1 - clipped);
}

Worked explain_chance(Worksheet& sheet, std::int64_t i) {
  const Worked p = sheet.input(0, i);
  double low = least_chance, high = 1 - least_chance;
  if (sheet.step().dtype() == f32) {
    low = static_cast<float>(low);
    high = static_cast<float>(high);
  }
  const Worked clipped = p.value() < low ? max(p, low) : p.value() > high ? min(p, high) : p;
  const Worked chance = sheet.read(1, i) != 0 ? clipped : 1 - clipped;
  return -log(sheet.line("chance of the label", chance));
}

// y = mean −log q, q = label ? p : 1 − p, p clipped        dp = dy (1 − 2 label) / (q n), 0 where clipped
const Op bce_op =
    built_in("binary_cross_entropy", {.forward =
                                          [](Inputs in, const Attributes&) {
                                            const Tensor logs = log(chance(in[0], in[1]));
                                            return Computed(-mean(logs));
                                          },
                                      .rule =
                                          [](const Step& s, const Tensor& dy, Needs) {
                                            const Tensor &p = s.input(0), &labels = s.input(1);
                                            const Tensor sign = signs(labels, p);
                                            const Tensor each = dy / count(p) * sign;
                                            const Tensor slope = each / chance(p, labels);
                                            const Tensor beyond =
                                                not_equal(clamp(p, least_chance, 1 - least_chance), p);
                                            return Gradients{masked_fill(slope, beyond, 0), Tensor()};
                                          },
                                      .work = work_per_number(3, 2),
                                      .role = "loss",
                                      .zero = "clipped",
                                      .constant = 0b10,
                                      .explain = mean_over_rows<explain_chance>});

Computed cross_entropy_forward(Inputs in, const Attributes&) {
  const Tensor &scores = in[0], &labels = in[1];
  Tensor losses = empty({scores.size(0)}, scores.dtype()), lse = empty({scores.size(0)}, scores.dtype());
  dispatch_float(scores.dtype(), [&]<class T>(T) {
    kernels::cross_entropy(scores.size(0), scores.size(1), scores.values<T>().data(),
                           labels.values<std::int32_t>().data(), losses.writable<T>().data(),
                           lse.writable<T>().data());
  });
  return {mean(losses), {lse}};
}

Gradients cross_entropy_rule(const Step& s, const Tensor& dy, Needs) {
  const Tensor& scores = s.input(0);
  const std::int64_t rows = scores.size(0);
  const Tensor each = detail::spread_copy(dy / std::max<std::int64_t>(1, rows), {rows});
  Tensor dx = empty(scores.shape(), scores.dtype());
  dispatch_float(scores.dtype(), [&]<class T>(T) {
    kernels::cross_entropy_gradient(rows, scores.size(1), scores.values<T>().data(),
                                    s.input(1).values<std::int32_t>().data(), s.saved(0).values<T>().data(),
                                    each.values<T>().data(), dx.writable<T>().data());
  });
  return {dx, Tensor()};
}

Worked explain_cross_entropy(Worksheet& sheet, std::int64_t row) {
  const std::int64_t classes = sheet.step().input(0).size(1);
  const std::vector<Worked> x = detail::inputs_along(sheet, 0, {row * classes, 1, classes});
  const auto label = static_cast<std::size_t>(sheet.read(1, row));
  return detail::log_of_total(sheet, x, sheet.step().dtype()) - x[label];
}

// y = mean (log Σ eˣ − x[label])        dx = dy (softmax(x) − [column = label]) / n
const Op cross_entropy_op =
    built_in("cross_entropy", {.forward = cross_entropy_forward,
                               .rule = cross_entropy_rule,
                               .composed =
                                   [](Inputs in, const Attributes&) {
                                     const Tensor logs = log_softmax(in[0], 1);
                                     const Tensor ids = with_shape(in[1], {in[1].size(), 1});
                                     const Tensor given = gather(logs, 1, ids);
                                     const Tensor middle = mean(given);
                                     return -middle;
                                   },
                               .work = work_per_number(3, 3),
                               .role = "loss",
                               .zero = "saturated",
                               .explain = mean_over_rows<explain_cross_entropy>});

Worked explain_square(Worksheet& sheet, std::int64_t i) {
  const Worked p = sheet.input(0, i);
  return pow(p - sheet.input(1, i), 2);
}

// z = mean (p − y)²        dp = dz 2 (p − y) / n        dy = −dp
const Op mse_op = built_in("mse", {.forward =
                                       [](Inputs in, const Attributes&) {
                                         return Computed(mean(square(in[0] - labels_like(in[1], in[0]))));
                                       },
                                   .rule =
                                       [](const Step& s, const Tensor& dz, Needs needs) {
                                         const Tensor& p = s.input(0);
                                         const Tensor& y = s.input(1);
                                         const Tensor off = p - reshape(y.to(p.dtype()), p.shape());
                                         const Tensor each = dz * (2.0 / static_cast<double>(count(p)));
                                         Gradients gradients{each * off, Tensor()};
                                         if (needs[1]) gradients[1] = reshape(-gradients[0], y.shape());
                                         return gradients;
                                       },
                                   .work = work_per_number(3, 2),
                                   .role = "loss",
                                   .zero = "no error left",
                                   .explain = mean_over_rows<explain_square>});

bool same_but_for_last_one(const Shape& longer, const Shape& shorter) {
  return longer.rank() == shorter.rank() + 1 && longer[-1] == 1 && longer.without(-1) == shorter;
}

void check_shapes(const char* who, const Tensor& p, const Tensor& labels) {
  detail::need_float(who, p);
  if (labels.dtype() != i32) detail::need_floats(who, p, labels);
  if (p.shape() != labels.shape() && !same_but_for_last_one(p.shape(), labels.shape()) &&
      !same_but_for_last_one(labels.shape(), p.shape()))
    fail("[{}] predictions are {}, labels {}; they are not broadcast: need the same shape, or (N, 1) and (N)",
         who, p.shape(), labels.shape());
}

void check_binary(const char* who, const Tensor& labels) {
  dispatch(labels.dtype(), [&]<class T>(T) {
    const auto numbers = labels.values<T>();
    const auto bad = std::ranges::find_if(numbers, [](T label) { return !(label == T{0} || label == T{1}); });
    if (bad != numbers.end())
      fail("[{}] the label of row {} is {}; allowed are 0 and 1", who, bad - numbers.begin(), *bad);
  });
}

}  // namespace

Tensor binary_cross_entropy(const Located& p, const Located& labels) {
  constexpr const char* who = "binary_cross_entropy";
  check_shapes(who, p, labels);
  check_binary(who, labels);
  dispatch_float(p->dtype(), [&]<class T>(T) {
    const auto chances = p->values<T>();
    const auto bad = std::ranges::find_if(chances, [](T chance) { return chance < T{0} || chance > T{1}; });
    if (bad != chances.end())
      fail("[{}] the chance of row {} is {}; allowed are 0 to 1 (for a logit there is {}_with_logits)", who,
           bad - chances.begin(), *bad, who);
  });
  return apply(bce_op, {p, labels});
}

Tensor binary_cross_entropy_with_logits(const Located& z, const Located& labels) {
  check_shapes("binary_cross_entropy_with_logits", z, labels);
  check_binary("binary_cross_entropy_with_logits", labels);
  return apply(bce_logits_op, {z, labels});
}

Tensor cross_entropy(const Located& scores, const Located& labels) {
  detail::need_float("cross_entropy", scores);
  detail::need_i32("cross_entropy", "labels", labels);
  if (scores->rank() != 2 ||
      (labels->shape() != Shape{scores->size(0)} && labels->shape() != Shape{scores->size(0), 1}))
    fail("[cross_entropy] needs scores (N, classes) and labels (N); they have shapes {} and {}",
         scores->shape(), labels->shape());
  const auto numbers = labels->values<std::int32_t>();
  const std::int64_t bad = kernels::find_outside(numbers.data(), labels->size(), scores->size(1));
  if (bad >= 0)
    fail("[cross_entropy] the label of row {} is {}; with {} classes allowed are 0 to {}", bad,
         numbers[static_cast<std::size_t>(bad)], scores->size(1), scores->size(1) - 1);
  return apply(cross_entropy_op, {scores, labels});
}

Tensor mse(const Located& p, const Located& y) {
  check_shapes("mse", p, y);
  return apply(mse_op, {p, y});
}

}  // namespace pencil
