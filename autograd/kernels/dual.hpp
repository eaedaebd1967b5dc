// Dual numbers: v + d·ε with ε² = 0. A formula computed with x = v + 1·ε gives f(v) + f′(v)·ε.
//
// Dual<Lane> gives first derivatives, Dual<Dual<Lane, true>> second ones; a third level is refused. Only the
// argument that is asked for is dual, the others stay plain: nothing is multiplied by a zero that only says
// "not asked for", and 0·∞ appears only where the derivative has it.
//
// Conventions at kinks: abs′(0) = 0; ties of max and min share equally; select lets nothing of the branch not
// taken through; sqrt′(0) = ∞ as in IEEE arithmetic; d/da a^0 = 0, at a = 0 too; d/db 0^b = 0 for b ≥ 0; the
// logarithm of a base is taken only if the exponent is dual.
#pragma once

#include <concepts>
#include <numbers>
#include <type_traits>

#include "autograd/kernels/lane.hpp"

namespace pencil::kernels {

/// `inner` stands inside another dual number: there a derivative that is 0 means "does not depend on it", and
/// is 0 times anything, infinite too.
template <class L, bool inner = false>
struct Dual;

namespace detail {
template <class L>
inline constexpr int dual_depth = 0;
template <class L, bool inner>
inline constexpr int dual_depth<Dual<L, inner>> = 1 + dual_depth<L>;
}  // namespace detail

/// What may stand beside a Dual<L> as a constant: a plain number, a lane, a dual number of lower depth.
template <class X, class L>
concept Below = std::convertible_to<X, L>;

template <class L, bool inner>
struct Dual {
  static_assert(detail::dual_depth<L> < 2, "formulas have first and second derivatives, not third ones");

  L v;  ///< value
  L d;  ///< derivative

  Dual() : v(0), d(0) {}
  Dual(L value, L derivative) : v(value), d(derivative) {}
  template <class X>
  requires Below<X, L> Dual(const X& constant_value) : v(constant_value), d(0) {}

  Dual& operator+=(const auto& b) { return *this = *this + b; }
  Dual& operator-=(const auto& b) { return *this = *this - b; }
  Dual& operator*=(const auto& b) { return *this = *this * b; }
  Dual& operator/=(const auto& b) { return *this = *this / b; }

  friend Dual operator+(const Dual& a) { return a; }
  friend Dual operator-(const Dual& a) { return {-a.v, -a.d}; }

  friend Dual operator+(const Dual& a, const Dual& b) { return {a.v + b.v, a.d + b.d}; }
  friend Dual operator-(const Dual& a, const Dual& b) { return {a.v - b.v, a.d - b.d}; }
  friend Dual operator*(const Dual& a, const Dual& b) {
    return {a.v * b.v, times(a.d, b.v) + times(b.d, a.v)};
  }
  friend Dual operator/(const Dual& a, const Dual& b) {
    const L y = a.v / b.v;
    return {y, over(a.d - times(b.d, y), b.v)};
  }

  template <Below<L> X>
  friend Dual operator+(const Dual& a, const X& b) {
    return {a.v + b, a.d};
  }
  template <Below<L> X>
  friend Dual operator-(const Dual& a, const X& b) {
    return {a.v - b, a.d};
  }
  template <Below<L> X>
  friend Dual operator*(const Dual& a, const X& b) {
    return {a.v * b, times(a.d, b)};
  }
  template <Below<L> X>
  friend Dual operator/(const Dual& a, const X& b) {
    return {a.v / b, over(a.d, b)};
  }
  template <Below<L> X>
  friend Dual operator+(const X& a, const Dual& b) {
    return {a + b.v, b.d};
  }
  template <Below<L> X>
  friend Dual operator-(const X& a, const Dual& b) {
    return {a - b.v, -b.d};
  }
  template <Below<L> X>
  friend Dual operator*(const X& a, const Dual& b) {
    return {a * b.v, times(b.d, a)};
  }
  template <Below<L> X>
  friend Dual operator/(const X& a, const Dual& b) {
    const L y = a / b.v;
    return {y, over(-times(b.d, y), b.v)};
  }

  // Comparisons look at values only.
  friend auto operator<(const Dual& a, const Dual& b) { return a.v < b.v; }
  friend auto operator<=(const Dual& a, const Dual& b) { return a.v <= b.v; }
  friend auto operator>(const Dual& a, const Dual& b) { return a.v > b.v; }
  friend auto operator>=(const Dual& a, const Dual& b) { return a.v >= b.v; }
  friend auto operator==(const Dual& a, const Dual& b) { return a.v == b.v; }
  friend auto operator!=(const Dual& a, const Dual& b) { return a.v != b.v; }
  template <Below<L> X>
  friend auto operator<(const Dual& a, const X& b) {
    return a.v < b;
  }
  template <Below<L> X>
  friend auto operator<=(const Dual& a, const X& b) {
    return a.v <= b;
  }
  template <Below<L> X>
  friend auto operator>(const Dual& a, const X& b) {
    return a.v > b;
  }
  template <Below<L> X>
  friend auto operator>=(const Dual& a, const X& b) {
    return a.v >= b;
  }
  template <Below<L> X>
  friend auto operator==(const Dual& a, const X& b) {
    return a.v == b;
  }
  template <Below<L> X>
  friend auto operator!=(const Dual& a, const X& b) {
    return a.v != b;
  }
  template <Below<L> X>
  friend auto operator<(const X& a, const Dual& b) {
    return a < b.v;
  }
  template <Below<L> X>
  friend auto operator<=(const X& a, const Dual& b) {
    return a <= b.v;
  }
  template <Below<L> X>
  friend auto operator>(const X& a, const Dual& b) {
    return a > b.v;
  }
  template <Below<L> X>
  friend auto operator>=(const X& a, const Dual& b) {
    return a >= b.v;
  }

  template <Below<L> X>
  friend auto operator==(const X& a, const Dual& b) {
    return a == b.v;
  }
  template <Below<L> X>
  friend auto operator!=(const X& a, const Dual& b) {
    return a != b.v;
  }

  template <class M>
  friend Dual select(const M& condition, const Dual& a, const Dual& b) {
    return {select(condition, a.v, b.v), select(condition, a.d, b.d)};
  }
  template <class M, Below<L> X>
  friend Dual select(const M& condition, const Dual& a, const X& b) {
    return {select(condition, a.v, L(b)), select(condition, a.d, L(0))};
  }
  template <class M, Below<L> X>
  friend Dual select(const M& condition, const X& a, const Dual& b) {
    return {select(condition, L(a), b.v), select(condition, L(0), b.d)};
  }

  // Ties, and pairs with NaN, share equally.
  friend Dual max(const Dual& a, const Dual& b) {
    return {max(a.v, b.v), select(a.v > b.v, a.d, select(a.v < b.v, b.d, (a.d + b.d) * 0.5))};
  }
  friend Dual min(const Dual& a, const Dual& b) {
    return {min(a.v, b.v), select(a.v < b.v, a.d, select(a.v > b.v, b.d, (a.d + b.d) * 0.5))};
  }
  template <Below<L> X>
  friend Dual max(const Dual& a, const X& b) {
    return {max(a.v, b), select(a.v > b, a.d, select(a.v < b, L(0), a.d * 0.5))};
  }
  template <Below<L> X>
  friend Dual min(const Dual& a, const X& b) {
    return {min(a.v, b), select(a.v < b, a.d, select(a.v > b, L(0), a.d * 0.5))};
  }
  template <Below<L> X>
  friend Dual max(const X& a, const Dual& b) {
    return max(b, a);
  }
  template <Below<L> X>
  friend Dual min(const X& a, const Dual& b) {
    return min(b, a);
  }

  friend Dual abs(const Dual& x) { return {abs(x.v), select(x.v == 0, L(0), select(x.v < 0, -x.d, x.d))}; }
  friend Dual exp(const Dual& x) {
    const L y = exp(x.v);
    return {y, times(x.d, y)};
  }
  friend Dual expm1(const Dual& x) { return {expm1(x.v), times(x.d, exp(x.v))}; }
  friend Dual log(const Dual& x) { return {log(x.v), over(x.d, x.v)}; }
  friend Dual log1p(const Dual& x) { return {log1p(x.v), over(x.d, 1 + x.v)}; }
  friend Dual sqrt(const Dual& x) {
    const L y = sqrt(x.v);
    return {y, times(x.d, 0.5 / y)};
  }
  friend Dual rsqrt(const Dual& x) {
    const L y = rsqrt(x.v);
    return {y, times(x.d, -0.5 * (y * y * y))};
  }
  friend Dual sin(const Dual& x) { return {sin(x.v), times(x.d, cos(x.v))}; }
  friend Dual cos(const Dual& x) { return {cos(x.v), times(x.d, -sin(x.v))}; }
  friend Dual tanh(const Dual& x) {
    const L y = tanh(x.v);
    return {y, times(x.d, 1 - y * y)};
  }
  friend Dual erf(const Dual& x) {
    const L u = select(abs(x.v) > 40, L(40), x.v);  // there e^(−u²) is 0; at ∞ its own derivative were ∞·0
    return {erf(x.v), times(x.d, 2 * std::numbers::inv_sqrtpi * exp(-(u * u)))};
  }

  template <std::integral N>
  friend Dual pow(const Dual& a, N n) {
    if (n == 0) return Dual(1);
    return {pow(a.v, n), times(a.d, static_cast<double>(n) * pow(a.v, n - 1))};
  }
  template <Below<L> X>
  requires(!std::integral<X>) friend Dual pow(const Dual& a, const X& b) {
    return {pow(a.v, b), times(a.d, slope_in_base(a.v, b))};
  }
  template <Below<L> X>
  friend Dual pow(const X& a, const Dual& b) {
    const L y = pow(a, b.v);
    return {y, times(b.d, slope_in_exponent(a, b.v, y))};
  }
  friend Dual pow(const Dual& a, const Dual& b) {
    const L y = pow(a.v, b.v);
    return {y, times(a.d, slope_in_base(a.v, b.v)) + times(b.d, slope_in_exponent(a.v, b.v, y))};
  }

  /// x as a number that no derivative reaches.
  friend Dual constant(const Dual& x) { return Dual(constant(x.v), L(0)); }

 private:
  /// A derivative times, and divided by, a factor.
  template <class X>
  static L times(const L& d, const X& factor) {
    if constexpr (inner)
      return select(d == 0, L(0), L(d * factor));
    else
      return d * factor;
  }
  template <class X>
  static L over(const L& d, const X& divisor) {
    if constexpr (inner)
      return select(d == 0, L(0), L(d / divisor));
    else
      return d / divisor;
  }

  template <class A, class B>
  static L slope_in_base(const A& a, const B& b) {
    if constexpr (std::is_arithmetic_v<B>)  // known beforehand: nothing to select
      return b == 0 ? L(0) : L(b * pow(a, b - 1));
    else
      return select(b == 0, L(0), L(b * pow(a, b - 1)));
  }
  template <class A, class B>
  static L slope_in_exponent(const A& a, const B& b, const L& y) {
    return select(L(a) == 0 && b >= 0, L(0), L(y * log(a)));
  }
};

/// The derivative that a formula's result carries: none if it does not depend on the dual argument.
template <class L, bool inner>
L derivative(const Dual<L, inner>& y) {
  return y.d;
}
template <class X>
double derivative(const X&) {
  return 0;
}

}  // namespace pencil::kernels
