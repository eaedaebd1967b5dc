// Tensor::to and Tensor::detach.

#include <array>
#include <cmath>

#include "autograd/kernels/indexing.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::built_in;

namespace {

Computed cast_forward(Inputs in, const Attributes& attributes) {
  const Tensor& x = in[0];
  Tensor y = empty(x.shape(), attributes.get<std::string>("dtype") == name_of(f64) ? f64 : f32);
  dispatch(x.dtype(), [&]<class From>(From) {
    dispatch_float(y.dtype(), [&]<class To>(To) {
      kernels::cast(x.values<From>().data(), x.size(), y.writable<To>().data());
    });
  });
  return y;
}

Computed truncate_forward(Inputs in, const Attributes&) {
  const Tensor& x = in[0];
  Tensor y = empty(x.shape(), i32);
  dispatch_float(x.dtype(), [&]<class T>(T) {
    const std::int64_t bad =
        kernels::cast_to_int(x.values<T>().data(), x.size(), y.writable<std::int32_t>().data());
    if (bad >= 0)
      fail("[to] number {} of the tensor of shape {} is {}, which i32 does not hold", bad, x.shape(),
           x.values<T>()[static_cast<std::size_t>(bad)]);
  });
  return y;
}

Worked explain_truncate(Worksheet& sheet, std::int64_t element) {
  const Worked x = sheet.input(0, element);
  const double whole = std::trunc(x.value());
  return whole == x.value() ? x : sheet.call("trunc", whole, std::array{x});
}

// y = x in another float type        dx = dy in x's
const Op cast_op = built_in("cast", {.forward = cast_forward,
                                     .rule = [](const Step& s, const Tensor& dy,
                                                Needs) { return Gradients{dy.to(s.raw_input(0).dtype())}; },
                                     .explain = detail::same_place});
// y = x without its fraction: a mark
const Op truncate_op = built_in("truncate", {.forward = truncate_forward, .explain = explain_truncate});
// y = x: a mark
const Op detach_op = built_in(
    "detach",
    {.forward = [](Inputs in, const Attributes&) { return Computed(with_shape(in[0], in[0].shape())); },
     .explain = detail::same_place});

}  // namespace

Tensor Tensor::to(DType wanted, Where where) const {
  if (wanted == dtype()) return *this;
  return apply(wanted == i32 ? truncate_op : cast_op, Inputs(this, 1),
               {{"dtype", std::string(name_of(wanted))}}, where);
}

Tensor Tensor::detach(Where where) const { return apply(detach_op, Inputs(this, 1), {}, where); }

}  // namespace pencil
