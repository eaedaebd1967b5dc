#include "autograd/ops/pool.hpp"

#include <algorithm>
#include <limits>

#include "autograd/create.hpp"
#include "autograd/kernels/indexing.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::built_in;
using detail::work_per_number;

namespace {

// The mask (batch, length) as i32, whatever it came as.
Tensor whole(const Tensor& mask) { return mask.dtype() == i32 ? mask : not_equal(mask, 0); }

Computed mean_pool_forward(Inputs in, const Attributes&) {
  const Tensor& x = in[0];
  if (in.size() == 1) return mean(x, 1);
  const Tensor mask = whole(in[1]);
  Tensor y = empty({x.size(0), x.size(2)}, x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    kernels::masked_mean(x.size(0), x.size(1), x.size(2), x.values<T>().data(),
                         mask.values<std::int32_t>().data(), y.writable<T>().data());
  });
  return y;
}

Computed spread_rows_forward(Inputs in, const Attributes&) {
  const Tensor& y = in[0];
  const Tensor mask = whole(in[1]);
  Tensor x = empty(y.shape().inserted(1, mask.size(1)), y.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    kernels::masked_mean_gradient(x.size(0), x.size(1), x.size(2), y.values<T>().data(),
                                  mask.values<std::int32_t>().data(), x.writable<T>().data());
  });
  return x;
}

// The numbers of a column that no mask hides, of x (batch, length, width) and an element (batch, width).
std::vector<Worked> seen_numbers(Worksheet& sheet, std::int64_t element) {
  const Step& s = sheet.step();
  const detail::Around around(s.input(0).shape(), 1);
  const detail::Line line = around.line(element);
  const std::int64_t row = element / around.inner * around.size;
  std::vector<Worked> seen;
  for (std::int64_t t = 0; t < line.count; ++t)
    if (s.inputs() == 1 || sheet.read(1, row + t) != 0) seen.push_back(sheet.input(0, line.at(t)));
  detail::note_hidden(sheet, line.count - std::ssize(seen), line.count);
  return seen;
}

Worked explain_mean_pool(Worksheet& sheet, std::int64_t element) {
  return detail::mean_of(sheet, seen_numbers(sheet, element));
}

Worked explain_max_pool(Worksheet& sheet, std::int64_t element) {
  return detail::largest(sheet, seen_numbers(sheet, element));
}

Worked explain_spread_rows(Worksheet& sheet, std::int64_t element) {
  const Shape& x = sheet.step().shape();
  const detail::Around around(x, 1);
  const std::int64_t batch = element / (x[1] * x[2]);
  std::int64_t count = 0;
  for (std::int64_t t = 0; t < x[1]; ++t) count += sheet.read(1, batch * x[1] + t) != 0;
  detail::note_hidden(sheet, x[1] - count, x[1]);
  if (sheet.read(1, batch * x[1] + around.index(element)) != 0)
    return sheet.input(0, around.rest(element)) / count;
  sheet.note("0: hidden by the mask");
  return 0;
}

// x[b, t] = y[b] / count[b] where the mask is not 0, else 0        dy = dx pooled
const Op spread_rows_op =
    built_in("spread_rows", {.forward = spread_rows_forward,
                             .rule =
                                 [](const Step& s, const Tensor& dx, Needs) {
                                   return Gradients{mean_pool(dx, s.input(1)), Tensor()};
                                 },
                             .constant = 0b10,
                             .explain = explain_spread_rows});

// y[b] = Σ x[b, t] / count[b] over the t whose mask is not 0        dx[b, t] = dy[b] / count[b] there
const Op mean_pool_op =
    built_in("mean_pool", {.forward = mean_pool_forward,
                           .rule =
                               [](const Step& s, const Tensor& dy, Needs) {
                                 if (s.inputs() == 2)
                                   return Gradients{apply(spread_rows_op, {dy, s.input(1)}), Tensor()};
                                 const Shape& shape = s.raw_input(0).shape();
                                 const Tensor each = dy / std::max<std::int64_t>(1, shape[1]);
                                 return Gradients{broadcast_to(unsqueeze(each, 1), shape)};
                               },
                           .work = work_per_number(1, 0),
                           .role = "collapse",
                           .zero = "masked",
                           .constant = 0b10,
                           .explain = explain_mean_pool});

// 1 where a number of x may be the largest; no tensor where all may.
Tensor visible(Inputs in) { return in.size() == 2 ? unsqueeze(whole(in[1]), 2) : Tensor(); }

Computed max_pool_forward(Inputs in, const Attributes&) {
  const Tensor& x = in[0];
  if (x.size(1) == 0) return zeros({x.size(0), x.size(2)}, x.dtype());
  if (in.size() == 1) return max(x, 1);
  const Tensor seen = visible(in);
  const Tensor y = max(where(seen, x, -std::numeric_limits<double>::infinity()), 1);
  const Tensor any = max(seen.to(x.dtype()), 1).to(i32);
  return where(any, y, 0);
}

Gradients max_pool_rule(const Step& s, const Tensor& dy, Needs) {
  const Tensor& x = s.input(0);
  Tensor hit = equal(x, unsqueeze(s.output(), 1));
  if (s.inputs() == 2) {
    const Tensor mask = s.input(1);
    const Tensor seen = visible(std::array{x, mask});
    hit = where(seen, hit, 0);
  }
  const Tensor ties = maximum(sum(hit.to(x.dtype()), 1, true), 1);  // none where all is masked
  const Tensor share = unsqueeze(dy, 1) / ties;
  Gradients gradients(static_cast<std::size_t>(s.inputs()));
  gradients[0] = where(hit, share, 0);
  return gradients;
}

// y[b] = max x[b, t] over the t whose mask is not 0        dx[b, t] = dy[b] / ties where x[b, t] = y[b]
const Op max_pool_op = built_in("max_pool", {.forward = max_pool_forward,
                                             .rule = max_pool_rule,
                                             .work = work_per_number(1, 2),
                                             .role = "collapse",
                                             .zero = "masked, or not the largest",
                                             .constant = 0b10,
                                             .explain = explain_max_pool});

void check_sheet(const char* who, const Tensor& x) {
  detail::need_float(who, x);
  if (x.rank() != 3) fail("[{}] needs (batch, length, width); the tensor has shape {}", who, x.shape());
}

void check_mask(const char* who, const Tensor& x, const Tensor& mask) {
  if (mask.dtype() != i32) detail::need_floats(who, x, mask);
  if (mask.shape() != Shape{x.size(0), x.size(1)})
    fail("[{}] the mask must be (batch, length) = ({}, {}); it has shape {}", who, x.size(0), x.size(1),
         mask.shape());
}

Tensor pooled(const Op& op, const Located& x) {
  check_sheet(op.word().c_str(), x);
  return apply(op, {x});
}

Tensor pooled(const Op& op, const Located& x, const Located& mask) {
  check_sheet(op.word().c_str(), x);
  check_mask(op.word().c_str(), x, mask);
  return apply(op, {x, mask});
}

}  // namespace

Tensor mean_pool(const Located& x) { return pooled(mean_pool_op, x); }
Tensor mean_pool(const Located& x, const Located& mask) { return pooled(mean_pool_op, x, mask); }
Tensor max_pool(const Located& x) { return pooled(max_pool_op, x); }
Tensor max_pool(const Located& x, const Located& mask) { return pooled(max_pool_op, x, mask); }

}  // namespace pencil
