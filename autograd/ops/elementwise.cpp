#include "autograd/ops/elementwise.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/create.hpp"
#include "autograd/kernels/builtin.hpp"
#include "autograd/ops/formula.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/tape.hpp"

namespace pencil {

Tensor Operand::as_tensor(DType dtype) const {
  if (tensor_) return *tensor_;
  // One number is often asked for again: `x * 0.5` in a loop.
  thread_local struct {
    std::uint64_t bits = 0;
    Tensor tensor;
  } last;
  const auto bits = std::bit_cast<std::uint64_t>(number_);
  if (!last.tensor.defined() || last.bits != bits || last.tensor.dtype() != dtype) {
    last.tensor = full({}, number_, dtype);
    last.bits = bits;
    detail::Body::of(last.tensor)->number = true;
  }
  return last.tensor;
}

// An operand of `who` as a tensor of the dtype of another one of its.
static Tensor beside(const char* who, const Operand& x, const Tensor& other) {
  if (const Tensor* tensor = x.tensor()) return *tensor;
  const double number = x.number();
  constexpr double most = std::numeric_limits<std::int32_t>::max();
  if (other.dtype() == i32 && !(number >= -most - 1 && number <= most && number == std::trunc(number)))
    fail("[{}] {} is no whole number that i32 holds, which the tensor of shape {} is: cast it with .to(f32)",
         who, number, other.shape());
  return x.as_tensor(other.dtype());
}

OperandPair::OperandPair(const char* who, const Operand& x, const Operand& y) : where(x.where) {
  const Tensor* first = x.tensor() ? x.tensor() : y.tensor();
  if (!first) fail("[{}] was given two plain numbers; one side must be a tensor", who);
  a = beside(who, x, *first);
  b = beside(who, y, *first);
  if (a.dtype() != b.dtype())
    fail("[{}] dtypes differ: {} and {}; convert one with .to(…)", who, name_of(a.dtype()),
         name_of(b.dtype()));
}

namespace {

template <class T>
const kernels::ElementwiseTable<T>& table_of(const FormulaReadings& readings) {
  if constexpr (std::is_same_v<T, float>)
    return readings.f32_table();
  else
    return readings.f64_table();
}

// Runs kernel(plan, factors, x, y) over the broadcast of the formula's arguments, which follow `factors`
// tensors of the full shape: none forward, dy for a partial, u and dy for a second one.
template <class Run>
Tensor run(const char* word, Inputs in, std::size_t factors, Run&& kernel) {
  const Inputs arguments = in.subspan(factors);
  const Shape shape = detail::broadcast_floats(word, arguments);
  Tensor y = empty(shape, in[0].dtype());
  std::array<std::span<const std::int64_t>, 4> sizes;
  for (std::size_t i = 0; i < arguments.size(); ++i) sizes[i] = arguments[i].shape().sizes();
  const kernels::Broadcast plan = kernels::plan(
      shape.sizes(), std::span<const std::span<const std::int64_t>>(sizes.data(), arguments.size()));
  dispatch_float(y.dtype(), [&]<class T>(T) {
    std::array<const T*, 4> x{};
    for (std::size_t i = 0; i < arguments.size(); ++i) x[i] = arguments[i].values<T>().data();
    std::array<const T*, 2> factor{};
    for (std::size_t i = 0; i < factors; ++i) factor[i] = in[i].values<T>().data();
    kernel(plan, factor.data(), x.data(), y.writable<T>().data());
  });
  return y;
}

// "d mul/d2": the derivative by the second argument.
std::string by(const std::string& word, int arity, int i) {
  return arity == 1 ? fmt::format("{}/dx", word) : fmt::format("{}/d{}", word, i + 1);
}

// The inputs of a derivative: up to two factors and the formula's arguments. No memory is asked for.
using Arguments = boost::container::small_vector<Tensor, 6>;

Tensor apply_list(const Op& op, const Arguments& inputs) {
  return apply(op, Inputs(inputs.data(), inputs.size()), {}, Where::current());
}

// [first…, the formula's arguments of a step that holds `skip` factors before them]
Arguments with_arguments(std::initializer_list<Tensor> first, const Step& s, int skip) {
  Arguments all(first.begin(), first.end());
  for (int i = skip; i < s.inputs(); ++i) all.push_back(s.input(i));
  return all;
}

// The arithmetic of an op of `factors` tensors and then the formula's arguments. The formula takes its
// arguments first, then dy and u; the op has them in the order u, dy.
auto worked(FormulaReadings readings, int arity, int factors, int i, int j) {
  return [=](Worksheet& sheet, std::int64_t element) {
    boost::container::small_vector<Worked, 6> in;
    for (int a = 0; a < arity; ++a) in.push_back(sheet.broadcast_input(factors + a, element));
    for (int k = factors - 1; k >= 0; --k) in.push_back(sheet.input(k, element));
    return readings.arithmetic(readings.formula.get(), std::span(in.data(), in.size()), i, j);
  };
}

// z = u · dy · ∂²f/∂xᵢ∂xⱼ
Op second_op(const std::string& word, FormulaReadings readings, int arity, int i, int j) {
  const std::string name = by(by("d2 " + word, arity, i), arity, j);
  return Op(name, {.forward = [=](Inputs in, const Attributes&) -> Computed {
                     return run(name.c_str(), in, 2,
                                [&]<class T>(const auto& plan, const T* const* f, const T* const* x, T* y) {
                                  table_of<T>(readings).second(i, j, plan, f[0], f[1], x, y,
                                                               readings.formula.get());
                                });
                   },
                   .rule = [](const Step& s, const Tensor&, Needs) -> Gradients {
                     fail(
                         "[{}] third derivatives of a formula are not known; write the op's parts in simpler "
                         "ops to go on",
                         s.word());
                   },
                   .work = detail::formula_work,
                   .explain = worked(readings, arity, 2, i, j)});
}

// dxᵢ = dy · ∂f/∂xᵢ, of the full shape        d(dy) = u · ∂f/∂xᵢ        dxⱼ = u · dy · ∂²f/∂xᵢ∂xⱼ
Op partial_op(const std::string& word, FormulaReadings readings, int arity, int i) {
  const std::string name = by("d " + word, arity, i);
  std::vector<Op> seconds;
  for (int j = 0; j < arity; ++j) seconds.push_back(second_op(word, readings, arity, i, j));
  return Op(name, {.forward = [=](Inputs in, const Attributes&) -> Computed {
                     return run(name.c_str(), in, 1,
                                [&]<class T>(const auto& plan, const T* const* f, const T* const* x, T* y) {
                                  table_of<T>(readings).partial(i, plan, f[0], x, y, readings.formula.get());
                                });
                   },
                   .rule =
                       [seconds](const Step& s, const Tensor& u, Needs needs) {
                         Gradients gradients(static_cast<std::size_t>(s.inputs()));
                         if (needs[0]) gradients[0] = apply_list(s.op(), with_arguments({u}, s, 1));
                         for (std::size_t j = 0; j < seconds.size(); ++j)
                           if (needs[j + 1])
                             gradients[j + 1] =
                                 sum_to(apply_list(seconds[j], with_arguments({u, s.input(0)}, s, 1)),
                                        s.input(static_cast<int>(j) + 1).shape());
                         return gradients;
                       },
                   .work = detail::formula_work,
                   .explain = worked(readings, arity, 1, i, -1)});
}

// y = f(x₁, …)        dxᵢ = dy · ∂f/∂xᵢ, summed over what was broadcast
OpParts formula_parts(const std::string& word, FormulaReadings readings, int arity) {
  std::vector<Op> partials;
  for (int i = 0; i < arity; ++i) partials.push_back(partial_op(word, readings, arity, i));
  return {.forward = [=](Inputs in, const Attributes&) -> Computed {
            if (in.size() != static_cast<std::size_t>(arity))
              fail("[{}] takes {} inputs, was given {}", word, arity, in.size());
            return run(word.c_str(), in, 0,
                       [&]<class T>(const auto& plan, const T* const*, const T* const* x, T* y) {
                         table_of<T>(readings).forward(plan, x, y, readings.formula.get());
                       });
          },
          .rule =
              [partials](const Step& s, const Tensor& dy, Needs needs) {
                Gradients gradients(partials.size());
                for (std::size_t i = 0; i < partials.size(); ++i)
                  if (needs[i])
                    gradients[i] = sum_to(apply_list(partials[i], with_arguments({dy}, s, 0)),
                                          s.input(static_cast<int>(i)).shape());
                return gradients;
              },
          .work = detail::formula_work,
          .explain = worked(readings, arity, 0, -1, -1)};
}

// A built-in op: its formula's kernels are compiled for every instruction set and looked up when it runs.
template <class F>
Op made_of(const char* word, const char* zero = "") {
  OpParts parts = formula_parts(
      word, {&kernels::builtin<F, float>, &kernels::builtin<F, double>, &detail::formula_arithmetic<F>},
      F::arity);
  parts.zero = zero;
  return detail::built_in(word, std::move(parts));
}

Tensor apply_pair(const Op& op, const Operand& x, const Operand& y) {
  const OperandPair pair(op.word().c_str(), x, y);
  return apply(op, {{pair.a, pair.where}, pair.b});
}

namespace f = kernels::formulas;

// Each formula stands in kernels/formulas.hpp, with its derivatives' conventions.
const Op add_op = made_of<f::Add>("add");
const Op sub_op = made_of<f::Sub>("sub");
const Op mul_op = made_of<f::Mul>("mul", "multiplied by 0");
const Op div_op = made_of<f::Div>("div", "0 divided by it");
const Op pow_op = made_of<f::Pow>("pow");
const Op maximum_op = made_of<f::Maximum>("maximum", "not the larger");
const Op minimum_op = made_of<f::Minimum>("minimum", "not the smaller");
const Op clamp_op = made_of<f::Clamp>("clamp", "clamped");
const Op neg_op = made_of<f::Neg>("neg");
const Op square_op = made_of<f::Square>("square", "at 0");
const Op exp_op = made_of<f::Exp>("exp", "underflow");
const Op log_op = made_of<f::Log>("log");
const Op sqrt_op = made_of<f::Sqrt>("sqrt");
const Op rsqrt_op = made_of<f::Rsqrt>("rsqrt");
const Op sin_op = made_of<f::Sin>("sin");
const Op cos_op = made_of<f::Cos>("cos");
const Op tanh_op = made_of<f::Tanh>("tanh", "saturated");
const Op sigmoid_op = made_of<f::Sigmoid>("sigmoid", "saturated");
const Op relu_op = made_of<f::Relu>("relu", "a dead relu");
const Op abs_op = made_of<f::Abs>("abs");
const Op erf_op = made_of<f::Erf>("erf", "saturated");
const Op softplus_op = made_of<f::Softplus>("softplus", "saturated");
const Op log_sigmoid_op = made_of<f::LogSigmoid>("log_sigmoid", "saturated");
const Op gelu_op = made_of<f::Gelu>("gelu", "saturated");
const Op silu_op = made_of<f::Silu>("silu", "saturated");
const Op safe_sqrt_op = made_of<f::SafeSqrt>("safe_sqrt", "at 0");
const Op safe_log_op = made_of<f::SafeLog>("safe_log");

}  // namespace

Tensor add(const Operand& a, const Operand& b) { return apply_pair(add_op, a, b); }
Tensor sub(const Operand& a, const Operand& b) { return apply_pair(sub_op, a, b); }
Tensor mul(const Operand& a, const Operand& b) { return apply_pair(mul_op, a, b); }
Tensor div(const Operand& a, const Operand& b) { return apply_pair(div_op, a, b); }
Tensor pow(const Operand& a, const Operand& b) { return apply_pair(pow_op, a, b); }
Tensor maximum(const Operand& a, const Operand& b) { return apply_pair(maximum_op, a, b); }
Tensor minimum(const Operand& a, const Operand& b) { return apply_pair(minimum_op, a, b); }

Tensor neg(const Located& x) { return apply(neg_op, {x}); }
Tensor square(const Located& x) { return apply(square_op, {x}); }
Tensor exp(const Located& x) { return apply(exp_op, {x}); }
Tensor log(const Located& x) { return apply(log_op, {x}); }
Tensor sqrt(const Located& x) { return apply(sqrt_op, {x}); }
Tensor rsqrt(const Located& x) { return apply(rsqrt_op, {x}); }
Tensor sin(const Located& x) { return apply(sin_op, {x}); }
Tensor cos(const Located& x) { return apply(cos_op, {x}); }
Tensor tanh(const Located& x) { return apply(tanh_op, {x}); }
Tensor sigmoid(const Located& x) { return apply(sigmoid_op, {x}); }
Tensor relu(const Located& x) { return apply(relu_op, {x}); }
Tensor abs(const Located& x) { return apply(abs_op, {x}); }
Tensor erf(const Located& x) { return apply(erf_op, {x}); }
Tensor softplus(const Located& x) { return apply(softplus_op, {x}); }
Tensor log_sigmoid(const Located& x) { return apply(log_sigmoid_op, {x}); }
Tensor gelu(const Located& x) { return apply(gelu_op, {x}); }
Tensor silu(const Located& x) { return apply(silu_op, {x}); }
Tensor safe_sqrt(const Located& x) { return apply(safe_sqrt_op, {x}); }
Tensor safe_log(const Located& x) { return apply(safe_log_op, {x}); }

Tensor clamp(const Located& x, double low, double high) {
  if (!(low <= high)) fail("[clamp] low is {}, high is {}; need low <= high", low, high);
  const Tensor low_number = beside("clamp", low, x);
  const Tensor high_number = beside("clamp", high, x);
  return apply(clamp_op, {x, low_number, high_number});
}

Elementwise::Elementwise(std::string word, const FormulaReadings& readings, int arity)
    : op_(word, formula_parts(word, readings, arity)), arity_(arity) {}

Tensor Elementwise::applied(std::initializer_list<Operand> arguments) const {
  return detail::apply_formula(op_, {arguments.begin(), arguments.size()});
}

Tensor detail::apply_formula(const Op& op, std::span<const Operand> arguments) {
  const Tensor* some = nullptr;
  for (const Operand& each : arguments)
    if (!some) some = each.tensor();
  if (!some) fail("[{}] was given plain numbers only; one argument must be a tensor", op.word());
  boost::container::small_vector<Tensor, 4> tensors;
  for (const Operand& each : arguments) tensors.push_back(beside(op.word().c_str(), each, *some));
  return apply(op, Inputs(tensors.data(), tensors.size()), {}, arguments.front().where);
}

}  // namespace pencil
