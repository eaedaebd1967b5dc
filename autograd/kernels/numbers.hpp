// The functions of formulas for plain numbers, so that one generic formula works for double, Lane and Dual
// alike. exp, log, log1p, expm1, sqrt, sin, cos, tanh, erf, pow and abs are the standard library's.
#pragma once

#include <cmath>
#include <type_traits>

#include "autograd/select.hpp"

namespace pencil::kernels {

template <class N>
concept Number = std::is_arithmetic_v<N>;

using std::abs;
using std::cos;
using std::erf;
using std::exp;
using std::expm1;
using std::log;
using std::log1p;
using std::pow;
using std::sin;
using std::sqrt;
using std::tanh;

using pencil::select;

/// The larger of two numbers; NaN if either is NaN.
template <Number A, Number B>
constexpr std::common_type_t<A, B> max(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return x != x || x > y ? x : y;
}

/// The smaller of two numbers; NaN if either is NaN.
template <Number A, Number B>
constexpr std::common_type_t<A, B> min(A a, B b) {
  using T = std::common_type_t<A, B>;
  const T x = static_cast<T>(a), y = static_cast<T>(b);
  return x != x || x < y ? x : y;
}

/// 1 / sqrt(x)
template <Number N>
auto rsqrt(N x) {
  return 1 / std::sqrt(x);
}

/// x as a number that no derivative reaches.
template <Number N>
constexpr N constant(N x) {
  return x;
}

}  // namespace pencil::kernels

namespace pencil {

// What a formula calls with plain numbers finds here what argument-dependent lookup finds for lanes. (The
// standard functions are the very ones of <cmath>, so that they do not clash with those of the global
// namespace.)
using kernels::abs;
using kernels::cos;
using kernels::erf;
using kernels::exp;
using kernels::expm1;
using kernels::log;
using kernels::log1p;
using kernels::max;
using kernels::min;
using kernels::pow;
using kernels::rsqrt;
using kernels::sin;
using kernels::sqrt;
using kernels::tanh;

}  // namespace pencil
