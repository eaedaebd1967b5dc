#include "autograd/ops/compare.hpp"

#include "autograd/kernels/select.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::built_in;
using detail::spread;
using kernels::Comparison;

namespace {

// y = 1 where a ∘ b, else 0: a mark
Op comparison(const char* word, Comparison comparison) {
  return built_in(word, {.forward = [word, comparison](Inputs in, const Attributes&) {
                    const Shape shape = broadcast(in[0].shape(), in[1].shape(), word);
                    const Tensor a = spread(in[0], shape), b = spread(in[1], shape);
                    Tensor y = empty(shape, i32);
                    dispatch(a.dtype(), [&]<class T>(T) {
                      kernels::compare(comparison, y.size(), a.values<T>().data(), b.values<T>().data(),
                                       y.writable<std::int32_t>().data());
                    });
                    return Computed(y);
                  }});
}

const Op equal_op = comparison("equal", Comparison::equal);
const Op not_equal_op = comparison("not_equal", Comparison::not_equal);
const Op less_op = comparison("less", Comparison::less);
const Op less_equal_op = comparison("less_equal", Comparison::less_equal);
const Op greater_op = comparison("greater", Comparison::greater);
const Op greater_equal_op = comparison("greater_equal", Comparison::greater_equal);

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
              .zero = "the branch not taken"});

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
                    .zero = "masked"});

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
