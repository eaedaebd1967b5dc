#pragma once

#include <array>
#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "autograd/arithmetic.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "autograd/op.hpp"
#include "autograd/ops/elementwise.hpp"

namespace pencil {

/// The arithmetic of a formula at x₀, x₁, …, or, with the derivatives' seeds behind them: of dy · ∂f/∂xᵢ
/// (i ≥ 0; x₀, …, dy) and of u · dy · ∂²f/∂xᵢ∂xⱼ (i, j ≥ 0; x₀, …, dy, u).
using FormulaArithmetic = Worked (*)(const void* formula, std::span<const Worked> in, int i, int j);

/// Where the readings of a formula are found: its kernels in both precisions, and its arithmetic.
struct FormulaReadings {
  const kernels::ElementwiseTable<float>& (*f32_table)();
  const kernels::ElementwiseTable<double>& (*f64_table)();
  FormulaArithmetic arithmetic;
  std::shared_ptr<const void> formula = nullptr;  // its value, where it captures something
};

/// An op of one to four tensors made from a formula for one number: with NumPy broadcasting, its derivatives,
/// and theirs. Third derivatives throw.
class Elementwise {
 public:
  /// From readings made elsewhere; `elementwise` is the way in.
  Elementwise(std::string word, const FormulaReadings& readings, int arity);

  int arity() const { return arity_; }
  const Op& op() const { return op_; }
  operator const Op&() const { return op_; }  // NOLINT: it is an op

  /// Applies it. Tensors or plain numbers, at least one of them a tensor; throws where the number of
  /// arguments is not the formula's, or dtypes or shapes do not fit.
  Tensor operator()(const Operand& x) const { return applied({x}); }
  Tensor operator()(const Operand& x, const Operand& y) const { return applied({x, y}); }
  Tensor operator()(const Operand& x, const Operand& y, const Operand& z) const { return applied({x, y, z}); }
  Tensor operator()(const Operand& x, const Operand& y, const Operand& z, const Operand& w) const {
    return applied({x, y, z, w});
  }

 private:
  Tensor applied(std::initializer_list<Operand> arguments) const;

  Op op_;
  int arity_;
};

namespace detail {
template <class F, class T>
const kernels::ElementwiseTable<T>& formula_table() {
  static constexpr kernels::ElementwiseTable<T> table = kernels::elementwise_table<F, T>();
  return table;
}

template <class F, class N, std::size_t... A>
auto formula_of(const void* formula, const std::array<N, sizeof...(A)>& x, std::index_sequence<A...>) {
  const F& f = kernels::detail::formula_at<F>(formula);
  return f(x[A]...);
}

/// The formula read as arithmetic, and its derivatives through dual numbers over it.
template <class F>
Worked formula_arithmetic(const void* formula, std::span<const Worked> in, int i, int j) {
  using Inner = kernels::Dual<Worked, true>;
  using First = kernels::Dual<Worked>;
  using Second = kernels::Dual<Inner>;
  constexpr std::size_t arity = kernels::formula_arity<F>();
  constexpr auto places = std::make_index_sequence<arity>{};
  const auto arguments = [&]<class N>(auto&& argument) {
    std::array<N, arity> x;
    for (std::size_t a = 0; a < arity; ++a) x[a] = argument(static_cast<int>(a), in[a]);
    return x;
  };
  if (i < 0)
    return formula_of<F>(
        formula, arguments.template operator()<Worked>([](int, const Worked& x) { return x; }), places);
  if constexpr (kernels::detail::has_derivatives<F>()) {
    const Worked dy = in[arity];
    if (j < 0)
      return derivative(formula_of<F>(formula,
                                      arguments.template operator()<First>([&](int a, const Worked& x) {
                                        return First(x, a == i ? dy : Worked(0));
                                      }),
                                      places));
    const Worked u = in[arity + 1];
    return derivative(
        derivative(formula_of<F>(formula, arguments.template operator()<Second>([&](int a, const Worked& x) {
          return Second(Inner(x, a == j ? u : Worked(0)), Inner(a == i ? dy : Worked(0), 0));
        }),
                                 places)));
  } else {
    fail("[formula] it has no derivatives");
  }
}
}  // namespace detail

/// Makes an op of a formula: a lambda over one to four numbers, generic in their type, in arithmetic, the
/// functions of this library, and `select(condition, a, b)` in place of `if`:
///
///     const auto swish = elementwise("swish", [](auto x) { return x / (1 + exp(-x)); });
///     Tensor y = swish(x);
///
/// It may capture plain numbers, by value: they are constants of the op, which keeps them.
template <class F>
Elementwise elementwise(std::string word, const F& formula) {
  static_assert(std::is_trivially_copyable_v<F>,
                "a formula captures plain numbers only, by value: give it a tensor as an argument");
  FormulaReadings readings{&detail::formula_table<F, float>, &detail::formula_table<F, double>,
                           &detail::formula_arithmetic<F>};
  if constexpr (!std::is_empty_v<F>) readings.formula = std::make_shared<const F>(formula);
  return Elementwise(std::move(word), readings, kernels::formula_arity<F>());
}

}  // namespace pencil
