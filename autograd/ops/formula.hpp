#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <type_traits>

#include "autograd/kernels/elementwise.hpp"
#include "autograd/op.hpp"
#include "autograd/ops/elementwise.hpp"

namespace pencil {

/// Where the kernels of a formula are found, in both precisions.
struct FormulaKernels {
  const kernels::ElementwiseTable<float>& (*f32_table)();
  const kernels::ElementwiseTable<double>& (*f64_table)();
};

/// An op of one to four tensors made from a formula for one number: with NumPy broadcasting, its derivatives,
/// and theirs. Third derivatives throw.
class Elementwise {
 public:
  /// From kernels made elsewhere; `elementwise` is the way in.
  Elementwise(std::string word, const FormulaKernels& kernels, int arity);

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
}  // namespace detail

/// Makes an op of a formula: a lambda over one to four numbers, generic in their type and without captures,
/// in arithmetic, the functions of this library, and `select(condition, a, b)` in place of `if`:
///
///     const auto swish = elementwise("swish", [](auto x) { return x / (1 + exp(-x)); });
///     Tensor y = swish(x);
template <class F>
Elementwise elementwise(std::string word, F) {
  static_assert(std::is_empty_v<F>, "a formula has no captures");
  return Elementwise(std::move(word), {&detail::formula_table<F, float>, &detail::formula_table<F, double>},
                     kernels::formula_arity<F>());
}

}  // namespace pencil
