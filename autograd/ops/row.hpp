#pragma once

// The rows and numbers that a row formula computes with.

#include <concepts>
#include <type_traits>

#include "autograd/kernels/row_program.hpp"

namespace pencil {

/// A row of numbers inside a row formula: an argument, or what was computed from one. It stands for every row
/// at once: the formula is run when the op is made, and what it does is written down.
class Row;
/// One number for the whole row: its sum, its mean, its size, and what is computed of those. Beside a row it
/// is repeated along it.
class RowNumber;
/// A yes or no for each number of a row, or one for the whole row: `x > 0`. It has no bool: write
/// select(condition, a, b).
template <class Of>
class RowMask;

namespace detail {

template <class>
inline constexpr bool never_row = false;

/// What is written down of a formula, and a place in it.
struct RowTerm {
  kernels::RowProgram* program = nullptr;
  int place = -1;

  RowTerm beside(double number) const { return {program, program->number(number)}; }
};

RowTerm row_applied(kernels::RowWord word, const RowTerm& a);
RowTerm row_applied(kernels::RowWord word, const RowTerm& a, const RowTerm& b);
RowTerm row_applied(kernels::RowWord word, const RowTerm& a, const RowTerm& b, const RowTerm& c);
RowTerm row_folded(kernels::RowWord word, const RowTerm& a);

template <class X>
concept RowValue = std::same_as<X, Row> || std::same_as<X, RowNumber>;
template <class X>
concept RowPlainNumber = std::is_arithmetic_v<X>;
/// Two operands of which one at least is of a formula.
template <class A, class B>
concept RowOperands = (RowValue<A> && RowValue<B>) || (RowValue<A> && RowPlainNumber<B>) ||
                      (RowPlainNumber<A> && RowValue<B>);

}  // namespace detail

class Row {
 public:
  explicit Row(const detail::RowTerm& term) : term_(term) {}
  inline Row(const RowNumber& number);  // repeated along the row
  const detail::RowTerm& term() const { return term_; }

  Row& operator+=(const auto& b) { return *this = *this + b; }
  Row& operator-=(const auto& b) { return *this = *this - b; }
  Row& operator*=(const auto& b) { return *this = *this * b; }
  Row& operator/=(const auto& b) { return *this = *this / b; }

 private:
  detail::RowTerm term_;
};

class RowNumber {
 public:
  explicit RowNumber(const detail::RowTerm& term) : term_(term) {}
  const detail::RowTerm& term() const { return term_; }

  RowNumber& operator+=(const auto& b) { return *this = *this + b; }
  RowNumber& operator-=(const auto& b) { return *this = *this - b; }
  RowNumber& operator*=(const auto& b) { return *this = *this * b; }
  RowNumber& operator/=(const auto& b) { return *this = *this / b; }

 private:
  detail::RowTerm term_;
};

template <class Of>
class RowMask {
 public:
  explicit RowMask(const detail::RowTerm& term) : term_(term) {}
  const detail::RowTerm& term() const { return term_; }

  template <class B>
  requires std::is_same_v<B, bool>
  explicit operator B() const {
    static_assert(
        detail::never_row<B>,
        "a comparison in a row formula has an answer for each row or number: write select(condition, a, b)");
    return false;
  }

 private:
  detail::RowTerm term_;
};

inline Row::Row(const RowNumber& number)
    : term_{number.term().program, number.term().program->spread(number.term().place)} {}

namespace detail {

/// A row where one of them is, else a number.
template <class... X>
using RowJoined = std::conditional_t<(std::same_as<X, Row> || ...), Row, RowNumber>;

template <class A, class B>
RowTerm row_pair(kernels::RowWord word, const A& a, const B& b) {
  if constexpr (RowPlainNumber<A>)
    return row_applied(word, b.term().beside(static_cast<double>(a)), b.term());
  else if constexpr (RowPlainNumber<B>)
    return row_applied(word, a.term(), a.term().beside(static_cast<double>(b)));
  else
    return row_applied(word, a.term(), b.term());
}

template <class X>
RowTerm row_term(const RowTerm& beside, const X& x) {
  if constexpr (RowPlainNumber<X>)
    return beside.beside(static_cast<double>(x));
  else
    return x.term();
}

template <RowValue X>
X row_called(kernels::RowWord word, const X& x) {
  return X(row_applied(word, x.term()));
}
template <RowValue X>
RowNumber row_fold(kernels::RowWord word, const X& x) {
  return RowNumber(row_folded(word, x.term()));
}

}  // namespace detail

template <detail::RowValue X>
X operator+(const X& x) {
  return x;
}
template <detail::RowValue X>
X operator-(const X& x) {
  return detail::row_called(kernels::RowWord::neg, x);
}
template <class A, class B>
requires detail::RowOperands<A, B>
auto operator+(const A& a, const B& b) {
  return detail::RowJoined<A, B>(detail::row_pair(kernels::RowWord::add, a, b));
}
template <class A, class B>
requires detail::RowOperands<A, B>
auto operator-(const A& a, const B& b) {
  return detail::RowJoined<A, B>(detail::row_pair(kernels::RowWord::sub, a, b));
}
template <class A, class B>
requires detail::RowOperands<A, B>
auto operator*(const A& a, const B& b) {
  return detail::RowJoined<A, B>(detail::row_pair(kernels::RowWord::mul, a, b));
}
template <class A, class B>
requires detail::RowOperands<A, B>
auto operator/(const A& a, const B& b) {
  return detail::RowJoined<A, B>(detail::row_pair(kernels::RowWord::div, a, b));
}

template <class A, class B>
requires detail::RowOperands<A, B>
auto operator<(const A& a, const B& b) {
  return RowMask<detail::RowJoined<A, B>>(detail::row_pair(kernels::RowWord::less, a, b));
}
template <class A, class B>
requires detail::RowOperands<A, B>
auto operator<=(const A& a, const B& b) {
  return RowMask<detail::RowJoined<A, B>>(detail::row_pair(kernels::RowWord::less_equal, a, b));
}
template <class A, class B>
requires detail::RowOperands<A, B>
auto operator==(const A& a, const B& b) {
  return RowMask<detail::RowJoined<A, B>>(detail::row_pair(kernels::RowWord::equal, a, b));
}
template <class A, class B>
requires detail::RowOperands<A, B>
auto operator!=(const A& a, const B& b) {
  return RowMask<detail::RowJoined<A, B>>(detail::row_pair(kernels::RowWord::not_equal, a, b));
}
template <class A, class B>
requires detail::RowOperands<A, B>
auto operator>(const A& a, const B& b) { return b < a; }
template <class A, class B>
requires detail::RowOperands<A, B>
auto operator>=(const A& a, const B& b) { return b <= a; }
template <class A, class B>
auto operator&&(const RowMask<A>& a, const RowMask<B>& b) {
  return RowMask<detail::RowJoined<A, B>>(row_applied(kernels::RowWord::both, a.term(), b.term()));
}
template <class A, class B>
auto operator||(const RowMask<A>& a, const RowMask<B>& b) {
  return RowMask<detail::RowJoined<A, B>>(row_applied(kernels::RowWord::either, a.term(), b.term()));
}
template <class Of>
RowMask<Of> operator!(const RowMask<Of>& a) {
  return RowMask<Of>(
      row_applied(kernels::RowWord::opposite, a.term(), a.term().beside(0), a.term().beside(1)));
}

// Number by number.
template <detail::RowValue X>
X exp(const X& x) {
  return detail::row_called(kernels::RowWord::exp, x);
}
template <detail::RowValue X>
X expm1(const X& x) {
  return detail::row_called(kernels::RowWord::expm1, x);
}
template <detail::RowValue X>
X log(const X& x) {
  return detail::row_called(kernels::RowWord::log, x);
}
template <detail::RowValue X>
X log1p(const X& x) {
  return detail::row_called(kernels::RowWord::log1p, x);
}
template <detail::RowValue X>
X sqrt(const X& x) {
  return detail::row_called(kernels::RowWord::sqrt, x);
}
template <detail::RowValue X>
X rsqrt(const X& x) {
  return detail::row_called(kernels::RowWord::rsqrt, x);
}
template <detail::RowValue X>
X sin(const X& x) {
  return detail::row_called(kernels::RowWord::sin, x);
}
template <detail::RowValue X>
X cos(const X& x) {
  return detail::row_called(kernels::RowWord::cos, x);
}
template <detail::RowValue X>
X tanh(const X& x) {
  return detail::row_called(kernels::RowWord::tanh, x);
}
template <detail::RowValue X>
X erf(const X& x) {
  return detail::row_called(kernels::RowWord::erf, x);
}
template <detail::RowValue X>
X abs(const X& x) {
  return detail::row_called(kernels::RowWord::abs, x);
}
template <detail::RowValue X>
X square(const X& x) {
  return x * x;
}
/// x as numbers that no derivative reaches.
template <detail::RowValue X>
X constant(const X& x) {
  return detail::row_called(kernels::RowWord::fixed, x);
}
template <class A, class B>
requires detail::RowOperands<A, B>
auto pow(const A& a, const B& b) {
  return detail::RowJoined<A, B>(detail::row_pair(kernels::RowWord::pow, a, b));
}
/// The larger and the smaller of two; NaN if either is NaN; ties share the gradient.
template <class A, class B>
requires detail::RowOperands<A, B>
auto max(const A& a, const B& b) {
  return detail::RowJoined<A, B>(detail::row_pair(kernels::RowWord::maximum, a, b));
}
template <class A, class B>
requires detail::RowOperands<A, B>
auto min(const A& a, const B& b) {
  return detail::RowJoined<A, B>(detail::row_pair(kernels::RowWord::minimum, a, b));
}
/// a where the condition holds, else b, number by number. What is not taken reaches no derivative.
template <class Of, class A, class B>
requires(detail::RowOperands<A, B> ||
         (detail::RowPlainNumber<A> && detail::RowPlainNumber<B>)) auto select(const RowMask<Of>& condition,
                                                                               const A& a, const B& b) {
  const detail::RowTerm& mask = condition.term();
  return detail::RowJoined<Of, A, B>(
      row_applied(kernels::RowWord::select, mask, detail::row_term(mask, a), detail::row_term(mask, b)));
}

// Of a whole row.
/// 0 over nothing.
template <detail::RowValue X>
RowNumber sum(const X& x) {
  return detail::row_fold(kernels::RowWord::sum, x);
}
/// 0, with gradient 0, over nothing.
template <detail::RowValue X>
RowNumber mean(const X& x) {
  return detail::row_fold(kernels::RowWord::mean, x);
}
/// The largest and the smallest; NaN where there is one; ties share the gradient. Throw, when the op is
/// applied, over nothing.
template <detail::RowValue X>
RowNumber max(const X& x) {
  return detail::row_fold(kernels::RowWord::largest, x);
}
template <detail::RowValue X>
RowNumber min(const X& x) {
  return detail::row_fold(kernels::RowWord::smallest, x);
}
/// How many numbers a row has.
template <detail::RowValue X>
RowNumber size(const X& x) {
  return RowNumber({x.term().program, x.term().program->size()});
}

}  // namespace pencil
