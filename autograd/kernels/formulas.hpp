// The built-in elementwise ops: each is one formula, from which kernels, derivatives and printed arithmetic
// are made. A formula is a type with a generic operator() const; it works for numbers, lanes and dual
// numbers. Values at the ends of the range are right (softplus(1000) = 1000, sigmoid(−1000) = 0), and so are
// derivatives there.
#pragma once

#include <numbers>

#include "autograd/kernels/numbers.hpp"

namespace pencil::kernels::formulas {

// Arithmetic

struct Neg {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return -x; }
};
struct Add {
  static constexpr int arity = 2;
  auto operator()(auto a, auto b) const { return a + b; }
};
struct Sub {
  static constexpr int arity = 2;
  auto operator()(auto a, auto b) const { return a - b; }
};
struct Mul {
  static constexpr int arity = 2;
  auto operator()(auto a, auto b) const { return a * b; }
};
struct Div {
  static constexpr int arity = 2;
  auto operator()(auto a, auto b) const { return a / b; }
};
struct Square {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return x * x; }
};
struct Sqrt {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return sqrt(x); }
};
/// 1 / √x
struct Rsqrt {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return rsqrt(x); }
};
/// √x for x > 0; 0 with derivative 0 for x ≤ 0. (Plain sqrt has derivative ∞ at 0, so that √(x²) has 0·∞ =
/// NaN there.)
struct SafeSqrt {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return select(x <= 0, 0, sqrt(x)); }
};
struct Abs {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return abs(x); }
};
/// max(x, 0); its derivative at 0 is 0.
struct Relu {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return select(x <= 0, 0, x); }
};
struct Maximum {
  static constexpr int arity = 2;
  auto operator()(auto a, auto b) const { return max(a, b); }
};
struct Minimum {
  static constexpr int arity = 2;
  auto operator()(auto a, auto b) const { return min(a, b); }
};
/// x, but not below low nor above high. The derivative reaches x only, and passes at the bounds.
struct Clamp {
  static constexpr int arity = 3;
  auto operator()(auto x, auto low, auto high) const {
    return select(x < low, constant(low), select(x > high, constant(high), x));
  }
};
/// a where the condition is not 0, else b. The branch not taken reaches no derivative.
struct Where {
  static constexpr int arity = 3;
  auto operator()(auto condition, auto a, auto b) const { return select(condition != 0, a, b); }
};

// Comparisons: 1 or 0. A comparison with NaN is 0, but for NotEqual. They have no derivative kernels.

struct Equal {
  static constexpr int arity = 2;
  static constexpr bool differentiable = false;
  auto operator()(auto a, auto b) const { return select(a == b, 1, 0); }
};
struct NotEqual {
  static constexpr int arity = 2;
  static constexpr bool differentiable = false;
  auto operator()(auto a, auto b) const { return select(a != b, 1, 0); }
};
struct Less {
  static constexpr int arity = 2;
  static constexpr bool differentiable = false;
  auto operator()(auto a, auto b) const { return select(a < b, 1, 0); }
};
struct LessEqual {
  static constexpr int arity = 2;
  static constexpr bool differentiable = false;
  auto operator()(auto a, auto b) const { return select(a <= b, 1, 0); }
};

// Exponentials. With n = −|x| and e = eⁿ nothing overflows; n is written with select, for |x| has no slope at
// 0.

struct Exp {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return exp(x); }
};
struct Log {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return log(x); }
};
/// ln x for x > 0; 0 with derivative 0 for x ≤ 0, so that p ln p is 0 at 0.
struct SafeLog {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return select(x <= 0, 0, log(x)); }
};
struct Log1p {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return log1p(x); }
};
struct Expm1 {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return expm1(x); }
};
struct Tanh {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return tanh(x); }
};
/// 1 / (1 + e^(−x))
struct Sigmoid {
  static constexpr int arity = 1;
  auto operator()(auto x) const {
    const auto e = exp(select(x > 0, -x, x));
    return select(x > 0, 1, e) / (1 + e);
  }
};
/// ln(1 + e^x)
struct Softplus {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return select(x > 0, x, 0) + log1p(exp(select(x > 0, -x, x))); }
};
/// ln sigmoid(x) = −softplus(−x)
struct LogSigmoid {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return select(x > 0, 0, x) - log1p(exp(select(x > 0, -x, x))); }
};
/// x · sigmoid(x)
struct Silu {
  static constexpr int arity = 1;
  auto operator()(auto x) const {
    // Below −1000 sigmoid is 0 in double too; the factor stays finite there, for −∞ · 0 is NaN.
    return select(x < -1000, -1000, x) * Sigmoid{}(x);
  }
};

// Special functions

struct Sin {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return sin(x); }
};
struct Cos {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return cos(x); }
};
/// 2/√π ∫₀ˣ e^(−t²) dt
struct Erf {
  static constexpr int arity = 1;
  auto operator()(auto x) const { return erf(x); }
};
/// x · Φ(x) with the normal distribution Φ(x) = (1 + erf(x / √2)) / 2 (Hendrycks and Gimpel 2016)
struct Gelu {
  static constexpr int arity = 1;
  auto operator()(auto x) const {
    // Below −100 Φ and its derivative are 0 in double too; the factor stays finite there, for −∞ · 0 is NaN.
    const auto factor = select(x < -100, -100, x);
    return 0.5 * factor * (1 + erf(x * (1 / std::numbers::sqrt2)));
  }
};
/// a^b: pow(0, 0) = 1 with derivative 0; d/db is 0 where a = 0 ≤ b.
struct Pow {
  static constexpr int arity = 2;
  auto operator()(auto a, auto b) const { return pow(a, b); }
};

}  // namespace pencil::kernels::formulas
