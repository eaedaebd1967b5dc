// The kernels of the built-in formulas, compiled for each instruction set and chosen at run time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "autograd/kernels/dispatch.hpp"
#include "autograd/kernels/elementwise.hpp"
#include "autograd/kernels/formulas.hpp"

namespace pencil::kernels {

template <class... F>
struct Formulas {
  static constexpr std::size_t count = sizeof...(F);

  /// The place of a formula in the list; count if it is not there.
  template <class Wanted>
  static constexpr std::size_t place() {
    constexpr std::array<bool, count> is{std::is_same_v<F, Wanted>...};
    std::size_t i = 0;
    while (i < count && !is[i]) ++i;
    return i;
  }

  template <class T, class Arch>
  static constexpr std::array<ElementwiseTable<T>, count> tables() {
    return {elementwise_table<F, T, Arch>()...};
  }
};

// One list a file of kernels/isa/.
using ArithmeticFormulas =
    Formulas<formulas::Neg, formulas::Add, formulas::Sub, formulas::Mul, formulas::Div, formulas::Square,
             formulas::Sqrt, formulas::Rsqrt, formulas::SafeSqrt, formulas::Abs, formulas::Relu,
             formulas::Maximum, formulas::Minimum, formulas::Clamp, formulas::Where, formulas::Equal,
             formulas::NotEqual, formulas::Less, formulas::LessEqual>;
using ExponentialFormulas =
    Formulas<formulas::Exp, formulas::Log, formulas::SafeLog, formulas::Log1p, formulas::Expm1,
             formulas::Tanh, formulas::Sigmoid, formulas::Softplus, formulas::LogSigmoid, formulas::Silu>;
using SpecialFormulas = Formulas<formulas::Sin, formulas::Cos, formulas::Erf, formulas::Gelu, formulas::Pow>;

/// The tables of a list of formulas, in its order.
template <class List>
struct ElementwiseFamily {
  std::array<ElementwiseTable<float>, List::count> f32;
  std::array<ElementwiseTable<double>, List::count> f64;

  template <class Arch>
  static constexpr ElementwiseFamily made_for() {
    return {List::template tables<float, Arch>(), List::template tables<double, Arch>()};
  }
};

/// The family as compiled for one instruction set.
template <class List, Isa>
const ElementwiseFamily<List>& elementwise_family();

/// The family for the instruction set in use.
template <class List>
const ElementwiseFamily<List>& elementwise_family();

/// The kernels of a built-in formula: builtin<formulas::Exp, float>().
template <class F, class T>
const ElementwiseTable<T>& builtin() {
  const auto in = []<class List>(const ElementwiseFamily<List>& family) -> const ElementwiseTable<T>& {
    if constexpr (std::is_same_v<T, float>)
      return family.f32[List::template place<F>()];
    else
      return family.f64[List::template place<F>()];
  };
  if constexpr (ArithmeticFormulas::place<F>() < ArithmeticFormulas::count)
    return in(elementwise_family<ArithmeticFormulas>());
  else if constexpr (ExponentialFormulas::place<F>() < ExponentialFormulas::count)
    return in(elementwise_family<ExponentialFormulas>());
  else
    return in(elementwise_family<SpecialFormulas>());
}

namespace detail {
template <class T>
void choose_elements(const ElementwiseTable<T>& table, const Broadcast& walk, const std::int32_t* condition,
                     const T* a, const T* b, T* y);
template <class T, class From>
void compare_elements(const ElementwiseTable<T>& table, const Broadcast& walk, const From* a, const From* b,
                      std::int32_t* y);
}  // namespace detail

/// y = a where the condition is not 0, else b; the walk is over condition, a and b. Its derivatives are
/// where(condition, dy, 0) and where(condition, 0, dy): the branch not taken gets 0 whatever dy is.
template <class T>
void where(const Broadcast& walk, const std::int32_t* condition, const T* a, const T* b, T* y) {
  detail::choose_elements(builtin<formulas::Where, T>(), walk, condition, a, b, y);
}

/// y = 1 where the comparison F (Equal, NotEqual, Less or LessEqual) of a and b holds, else 0. T: float,
/// double or std::int32_t.
template <class F, class T>
void compare(const Broadcast& walk, const T* a, const T* b, std::int32_t* y) {
  using Computed = std::conditional_t<std::is_same_v<T, std::int32_t>, double, T>;
  detail::compare_elements(builtin<F, Computed>(), walk, a, b, y);
}

}  // namespace pencil::kernels
