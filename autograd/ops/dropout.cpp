#include "autograd/ops/dropout.hpp"

#include <bit>

#include "autograd/kernels/select.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

namespace {

std::uint64_t key_of(const Attributes& attributes) {
  return std::bit_cast<std::uint64_t>(attributes.get<std::int64_t>("key"));
}

Worked explain_dropout(Worksheet& sheet, std::int64_t element) {
  const double rate = sheet.step().attribute<double>("rate"), one = 1;
  double kept = 0;  // what became of a 1 in its place
  kernels::dropout(1, rate, key_of(sheet.step().attributes()) + static_cast<std::uint64_t>(element), &one,
                   &kept);
  sheet.note(kept != 0 ? "kept, and divided by 1 − rate" : "0: dropped");
  return kept != 0 ? sheet.input(0, element) / (1 - rate) : 0;
}

// y = keep x / (1 − rate)        dx = keep dy / (1 − rate)
const Op dropout_op = detail::built_in(
    "dropout", {.forward =
                    [](Inputs in, const Attributes& attributes) {
                      const Tensor& x = in[0];
                      Tensor y = empty(x.shape(), x.dtype());
                      dispatch_float(x.dtype(), [&]<class T>(T) {
                        kernels::dropout(x.size(), attributes.get<double>("rate"), key_of(attributes),
                                         x.values<T>().data(), y.writable<T>().data());
                      });
                      return Computed(y);
                    },
                .rule =
                    [](const Step& s, const Tensor& dy, Needs) {
                      return Gradients{dropout(dy, s.attribute<double>("rate"), key_of(s.attributes()))};
                    },
                .work = detail::work_per_number(1, 1),
                .zero = "dropped out",
                .explain = explain_dropout});

}  // namespace

Tensor dropout(const Located& x, double rate, std::uint64_t key) {
  detail::need_float("dropout", x);
  if (!(rate >= 0 && rate <= 1)) fail("[dropout] the rate is {}; need 0 to 1", rate);
  return apply(dropout_op, {x}, {{"rate", rate}, {"key", std::bit_cast<std::int64_t>(key)}});
}

}  // namespace pencil
