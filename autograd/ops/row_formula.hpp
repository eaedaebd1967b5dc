#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "autograd/op.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/row.hpp"

namespace pencil {

/// An op of one to four tensors made from a formula for one row, the last axis of them. The tensors broadcast
/// as everywhere; one whose last axis has size 1 is repeated along the row. f32 or f64.
class RowFormula {
 public:
  /// From a program traced elsewhere; `row_formula` and `reduction` are the way in.
  RowFormula(std::string word, kernels::RowProgram program);

  int arity() const { return arity_; }
  const Op& op() const { return op_; }
  operator const Op&() const { return op_; }  // NOLINT: it is an op

  /// Applies it. Tensors or plain numbers, at least one of them a tensor; throws where the number of
  /// arguments is not the formula's, there is no axis, dtypes or shapes do not fit, or the formula asks for
  /// the largest or smallest of an empty row.
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

/// How many rows a formula takes: 1 to 4.
template <class F>
constexpr int row_arity() {
  if constexpr (std::is_invocable_v<const F&, Row>)
    return 1;
  else if constexpr (std::is_invocable_v<const F&, Row, Row>)
    return 2;
  else if constexpr (std::is_invocable_v<const F&, Row, Row, Row>)
    return 3;
  else if constexpr (std::is_invocable_v<const F&, Row, Row, Row, Row>)
    return 4;
  else {
    static_assert(
        never_row<F>,
        "a row formula takes one to four rows: [](auto x, auto weight) { return sum(x * weight); }");
    return 0;
  }
}

/// Runs the formula on rows that write down what is done with them.
template <class Result, class F>
kernels::RowProgram traced(const F& formula) {
  constexpr int arity = row_arity<F>();
  kernels::RowProgram program(arity);
  const auto row = [&](int i) { return Row({&program, program.argument(i)}); };
  const auto result = [&] {
    if constexpr (arity == 1)
      return formula(row(0));
    else if constexpr (arity == 2)
      return formula(row(0), row(1));
    else if constexpr (arity == 3)
      return formula(row(0), row(1), row(2));
    else
      return formula(row(0), row(1), row(2), row(3));
  }();
  using R = std::remove_cvref_t<decltype(result)>;
  static_assert(!std::is_same_v<Result, Row> || !std::is_same_v<R, RowNumber>,
                "this formula gives one number for a row: make it with reduction(word, formula)");
  static_assert(
      !std::is_same_v<Result, RowNumber> || !std::is_same_v<R, Row>,
      "this formula gives a row: make it with row_formula(word, formula), or reduce it by sum, mean, max "
      "or min");
  static_assert(
      std::is_same_v<R, Result> || std::is_same_v<R, Row> || std::is_same_v<R, RowNumber>,
      "a row formula gives a row, a reduction a number computed from one; a comparison is neither: write "
      "select(condition, 1, 0)");
  program.finish(result.term().place);
  return program;
}

}  // namespace detail

/// Makes an op of a formula for a row: a lambda that takes one to four rows, the last axes of tensors, and
/// gives a row of the same size.
///
///     const auto rms_norm = row_formula("rms_norm", [](auto x) { return x / sqrt(mean(x * x) + 1e-6); });
///     Tensor y = rms_norm(x);   // of the shape of x
///
/// Rows take arithmetic and the functions of autograd/ops/row.hpp: exp, log, sqrt, …, select(condition, a,
/// b), and sum, mean, max, min and size of a row. The formula is run once, here, to write down what it does;
/// so it may capture anything and loop over what is known now, but not look at numbers. Its gradient is made
/// by reverse mode, once; it is composed of ops as well (Detail::steps), through which it can be
/// differentiated again.
template <class F>
RowFormula row_formula(std::string word, const F& formula) {
  return RowFormula(std::move(word), detail::traced<Row>(formula));
}

/// The same for a formula that gives one number for a row: the last axis is dropped.
///
///     const auto spread = reduction("spread", [](auto x) { return max(x) - min(x); });
///     Tensor y = spread(x);     // (2, 3, 4) → (2, 3)
template <class F>
RowFormula reduction(std::string word, const F& formula) {
  return RowFormula(std::move(word), detail::traced<RowNumber>(formula));
}

}  // namespace pencil
