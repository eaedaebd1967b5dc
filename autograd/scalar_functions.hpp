#pragma once

// The operators and functions of Scalars, expressions and plain numbers. Included by autograd/scalar.hpp.
//
// Conventions at kinks are those of the tensors: abs′(0) = 0, hypot′(0, 0) = 0, ties of min and max share
// equally, pow(0, 0) = 1 with gradient 0. min and max keep NaN.

#include <utility>

#include "autograd/scalar.hpp"
#include "autograd/select.hpp"

namespace pencil {

template <class T>
concept ScalarOperand = std::is_same_v<T, Scalar> || ScalarExpression<T>;

namespace detail {

PENCIL_INLINE ScalarLeaf node(const Scalar& x) { return {{}, x.value(), x.tag()}; }
template <ScalarExpression E>
PENCIL_INLINE const E& node(const E& e) {
  return e;
}
template <Number N>
PENCIL_INLINE PlainNumber node(N number) {
  return {{}, static_cast<double>(number)};
}
template <class X>
using Node = std::decay_t<decltype(node(std::declval<const X&>()))>;

/// What two operands may be: at least one a Scalar or an expression, the other that or a number.
template <class A, class B>
concept ScalarPair = (ScalarOperand<A> && (ScalarOperand<B> || Number<B>)) || (Number<A> && ScalarOperand<B>);

template <class F, class A>
PENCIL_INLINE auto unary(const A& a) {
  return UnaryNode<F, Node<A>>(node(a));
}
template <class F, class A, class B>
PENCIL_INLINE auto binary(const A& a, const B& b) {
  return BinaryNode<F, Node<A>, Node<B>>(node(a), node(b));
}

}  // namespace detail

#define PENCIL_OPERATOR(sign, F)                                                               \
  template <class A, class B>                                                                  \
  requires detail::ScalarPair<A, B> PENCIL_INLINE auto operator sign(const A& a, const B& b) { \
    return detail::binary<detail::F>(a, b);                                                    \
  }
PENCIL_OPERATOR(+, Add)
PENCIL_OPERATOR(-, Subtract)
PENCIL_OPERATOR(*, Multiply)
PENCIL_OPERATOR(/, Divide)
#undef PENCIL_OPERATOR

template <ScalarOperand A>
PENCIL_INLINE auto operator-(const A& a) {
  return detail::unary<detail::Negate>(a);
}
template <ScalarOperand A>
PENCIL_INLINE A operator+(const A& a) {
  return a;
}

#define PENCIL_COMPARISON(sign)                                                                \
  template <class A, class B>                                                                  \
  requires detail::ScalarPair<A, B> PENCIL_INLINE bool operator sign(const A& a, const B& b) { \
    return detail::node(a).value() sign detail::node(b).value();                               \
  }
PENCIL_COMPARISON(<)
PENCIL_COMPARISON(<=)
PENCIL_COMPARISON(>)
PENCIL_COMPARISON(>=)
PENCIL_COMPARISON(==)
PENCIL_COMPARISON(!=)
#undef PENCIL_COMPARISON

template <ScalarAddend X>
PENCIL_INLINE Scalar& Scalar::operator+=(const X& x) {
  return *this = *this + x;
}
template <ScalarAddend X>
PENCIL_INLINE Scalar& Scalar::operator-=(const X& x) {
  return *this = *this - x;
}
template <ScalarAddend X>
PENCIL_INLINE Scalar& Scalar::operator*=(const X& x) {
  return *this = *this * x;
}
template <ScalarAddend X>
PENCIL_INLINE Scalar& Scalar::operator/=(const X& x) {
  return *this = *this / x;
}

/// Functions of one number: f(x), with dy · f′(x) written in dy, x and y = f(x).
#define PENCIL_FUNCTION(f, derivative)                                                                   \
  namespace detail {                                                                                     \
  struct F_##f {                                                                                         \
    static constexpr Operation operation = Operation::f;                                                 \
    PENCIL_INLINE static double value(double x) { return std::f(x); }                                    \
    PENCIL_INLINE static double slope(double dy, [[maybe_unused]] double x, [[maybe_unused]] double y) { \
      return derivative;                                                                                 \
    }                                                                                                    \
  };                                                                                                     \
  }                                                                                                      \
  template <ScalarOperand A>                                                                             \
  PENCIL_INLINE auto f(const A& x) {                                                                     \
    return detail::unary<detail::F_##f>(x);                                                              \
  }
PENCIL_FUNCTION(exp, dy* y)
PENCIL_FUNCTION(expm1, dy*(y + 1))
PENCIL_FUNCTION(log, dy / x)
PENCIL_FUNCTION(log1p, dy / (1 + x))
PENCIL_FUNCTION(sqrt, dy * 0.5 / y)
PENCIL_FUNCTION(sin, dy* std::cos(x))
PENCIL_FUNCTION(cos, -dy* std::sin(x))
PENCIL_FUNCTION(tan, dy*(1 + y * y))
PENCIL_FUNCTION(asin, dy / std::sqrt((1 - x) * (1 + x)))
PENCIL_FUNCTION(acos, -dy / std::sqrt((1 - x) * (1 + x)))
PENCIL_FUNCTION(atan, dy / (1 + x * x))
PENCIL_FUNCTION(sinh, dy* std::cosh(x))
PENCIL_FUNCTION(cosh, dy* std::sinh(x))
PENCIL_FUNCTION(tanh, dy*((1 - y) * (1 + y)))
PENCIL_FUNCTION(erf, dy * 1.1283791670955126 * std::exp(-x * x))  // 2/√π
PENCIL_FUNCTION(abs, dy*(x > 0 ? 1.0 : x < 0 ? -1.0 : x * 0))
#undef PENCIL_FUNCTION

/// Functions of two numbers, with dy · ∂f/∂a and dy · ∂f/∂b written in dy, a, b and y = f(a, b).
#define PENCIL_FUNCTION(f, result, by_a, by_b)                                                         \
  namespace detail {                                                                                   \
  struct F_##f {                                                                                       \
    static constexpr Operation operation = Operation::f;                                               \
    static constexpr bool unit = false;                                                                \
    PENCIL_INLINE static double value(double a, double b) { return result; }                           \
    PENCIL_INLINE static double left(double dy, [[maybe_unused]] double a, [[maybe_unused]] double b,  \
                                     [[maybe_unused]] double y) {                                      \
      return by_a;                                                                                     \
    }                                                                                                  \
    PENCIL_INLINE static double right(double dy, [[maybe_unused]] double a, [[maybe_unused]] double b, \
                                      [[maybe_unused]] double y) {                                     \
      return by_b;                                                                                     \
    }                                                                                                  \
  };                                                                                                   \
  }                                                                                                    \
  template <class A, class B>                                                                          \
  requires detail::ScalarPair<A, B> PENCIL_INLINE auto f(const A& a, const B& b) {                     \
    return detail::binary<detail::F_##f>(a, b);                                                        \
  }                                                                                                    \
  /* std::f, where it has a template for two of one type, is no better than this. */                   \
  PENCIL_INLINE auto f(const Scalar& a, const Scalar& b) { return detail::binary<detail::F_##f>(a, b); }
PENCIL_FUNCTION(pow, std::pow(a, b), b == 0 ? 0.0 : dy * (b * std::pow(a, b - 1)),
                a == 0 && b >= 0 ? 0.0 : dy * (y * std::log(a)))
PENCIL_FUNCTION(min, a != a || a < b ? a : b, dy*(a<b ? 1.0 : a> b ? 0.0 : 0.5),
                dy*(a<b ? 0.0 : a> b ? 1.0 : 0.5))
PENCIL_FUNCTION(max, a != a || a > b ? a : b,
                dy*(a > b   ? 1.0
                    : a < b ? 0.0
                            : 0.5),
                dy*(a > b   ? 0.0
                    : a < b ? 1.0
                            : 0.5))
PENCIL_FUNCTION(hypot, std::hypot(a, b), y == 0 ? 0.0 : dy * (a / y), y == 0 ? 0.0 : dy * (b / y))
#undef PENCIL_FUNCTION

/// a where the condition holds, else b; the branch not taken is not recorded. What `?:` cannot say of two
/// expressions of different types.
template <class A, class B>
requires detail::ScalarPair<A, B>
inline Scalar select(bool condition, const A& a, const B& b) { return condition ? Scalar(a) : Scalar(b); }

}  // namespace pencil
