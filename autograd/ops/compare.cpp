#include "autograd/ops/compare.hpp"

#include <functional>

#include "autograd/kernels/select.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::built_in;
using detail::spread;
using kernels::Comparison;

namespace {

// y = 1 where a ∘ b, else 0: a mark
template <class Compare>
Op comparison(const char* word, Comparison comparison, Compare worked) {
  return built_in(word, {.forward =
                             [word, comparison](Inputs in, const Attributes&) {
                               const Shape shape = broadcast(in[0].shape(), in[1].shape(), word);
                               const Tensor a = spread(in[0], shape), b = spread(in[1], shape);
                               Tensor y = empty(shape, i32);
                               dispatch(a.dtype(), [&]<class T>(T) {
                                 kernels::compare(comparison, y.size(), a.values<T>().data(),
                                                  b.values<T>().data(), y.writable<std::int32_t>().data());
                               });
                               return Computed(y);
                             },
                         .explain =
                             [worked](Worksheet& sheet, std::int64_t element) {
                               const Worked a = sheet.broadcast_input(0, element);
                               return select(worked(a, sheet.broadcast_input(1, element)), 1, 0);
                             }});
}

const Op equal_op = comparison("equal", Comparison::equal, std::equal_to<>());
const Op not_equal_op = comparison("not_equal", Comparison::not_equal, std::not_equal_to<>());
const Op less_op = comparison("less", Comparison::less, std::less<>());
const Op less_equal_op = comparison("less_equal", Comparison::less_equal, std::less_equal<>());
const Op greater_op = comparison("greater", Comparison::greater, std::greater<>());
const Op greater_equal_op = comparison("greater_equal", Comparison::greater_equal, std::greater_equal<>());

Tensor compared(const Op& op, const Operand& a, const Operand& b) {
  const OperandPair pair(op.word().c_str(), a, b);
  return apply(op, {{pair.a, pair.where}, {pair.b, pair.where}});
}

// y = condition ? a : b        da = condition ? dy : 0        db = condition ? 0 : dy
const Op where_op = built_in(
    "where", {.forward =
                  [](Inputs in, const Attributes&) {
                    const Shape shape =
                        broadcast(in[0].shape(), broadcast(in[1].shape(), in[2].shape(), "where"), "where");
                    const Tensor condition = spread(in[0], shape), a = spread(in[1], shape),
                                 b = spread(in[2], shape);
                    Tensor y = empty(shape, a.dtype());
                    dispatch(a.dtype(), [&]<class T>(T) {
                      kernels::select(y.size(), condition.values<std::int32_t>().data(), a.values<T>().data(),
                                      b.values<T>().data(), y.writable<T>().data());
                    });
                    return Computed(y);
                  },
              .rule =
                  [](const Step& s, const Tensor& dy, Needs needs) {
                    const Tensor& condition = s.input(0);
                    Gradients gradients(3);
                    if (needs[1]) gradients[1] = sum_to(where(condition, dy, 0), s.raw_input(1).shape());
                    if (needs[2]) gradients[2] = sum_to(where(condition, 0, dy), s.raw_input(2).shape());
                    return gradients;
                  },
              .zero = "the branch not taken",
              .explain =
                  [](Worksheet& sheet, std::int64_t element) {
                    const Worked condition = sheet.broadcast_input(0, element);
                    const Worked taken = sheet.broadcast_input(condition.value() != 0 ? 1 : 2, element);
                    return select(condition != 0, taken, taken);
                  }});

// y = mask ? value : x        dx = mask ? 0 : dy
const Op masked_fill_op = built_in(
    "masked_fill", {.forward =
                        [](Inputs in, const Attributes& attributes) {
                          const Tensor& x = in[0];
                          const Tensor mask = spread(in[1], x.shape());
                          Tensor y = empty(x.shape(), x.dtype());
                          dispatch_float(x.dtype(), [&]<class T>(T) {
                            kernels::masked_fill(
                                y.size(), x.values<T>().data(), mask.values<std::int32_t>().data(),
                                static_cast<T>(attributes.get<double>("value")), y.writable<T>().data());
                          });
                          return Computed(y);
                        },
                    .rule =
                        [](const Step& s, const Tensor& dy, Needs) {
                          return Gradients{masked_fill(dy, s.input(1), 0), Tensor()};
                        },
                    .zero = "masked",
                    .explain =
                        [](Worksheet& sheet, std::int64_t element) {
                          const Worked mask = sheet.broadcast_input(1, element);
                          if (mask.value() == 0) return select(mask != 0, 0, sheet.input(0, element));
                          return select(mask != 0, sheet.step().attribute<double>("value"), 0);
                        }});

}  // namespace

Tensor equal(const Operand& a, const Operand& b) { return compared(equal_op, a, b); }
Tensor not_equal(const Operand& a, const Operand& b) { return compared(not_equal_op, a, b); }
Tensor less(const Operand& a, const Operand& b) { return compared(less_op, a, b); }
Tensor less_equal(const Operand& a, const Operand& b) { return compared(less_equal_op, a, b); }
Tensor greater(const Operand& a, const Operand& b) { return compared(greater_op, a, b); }
Tensor greater_equal(const Operand& a, const Operand& b) { return compared(greater_equal_op, a, b); }

Tensor where(const Located& condition, const Operand& a, const Operand& b) {
  detail::need_i32("where", "condition", condition);
  const OperandPair pair("where", a, b);
  return apply(where_op, {condition, {pair.a, pair.where}, {pair.b, pair.where}});
}

Tensor masked_fill(const Located& x, const Located& mask, double value) {
  detail::need_float("masked_fill", x);
  detail::need_i32("masked_fill", "mask", mask);
  if (broadcast(x->shape(), mask->shape(), "masked_fill") != x->shape())
    fail("[masked_fill] the mask {} does not broadcast to the tensor {}", mask->shape(), x->shape());
  return apply(masked_fill_op, {x, mask}, {{"value", value}});
}

}  // namespace pencil
