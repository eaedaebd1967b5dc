// exp, log, sin, tanh, erf, pow … of lanes, to a few units in the last place over the whole range of the
// type, with the values of IEEE 754 and C's Annex F at 0, infinity and NaN.
//
// xsimd computes log, log1p, expm1, tanh and erf, mended where it is wrong (each says where). Three are our
// own:
//   exp       xsimd's gives 0 for results below the normal range and infinity from 88.38 (f64: 709.4) on
//   sin, cos  xsimd's choose their path by all numbers of the lane, so that a number's last bits depend on
//   its
//             neighbours
//   pow       xsimd's is wrong at base 0, exponent 0 and infinities, and loses digits as the result grows
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <numbers>

#include "autograd/kernels/lane.hpp"

namespace pencil::kernels {
namespace detail {

template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class T>
inline constexpr int mantissa_bits = std::numeric_limits<T>::digits - 1;

template <class T, class Arch>
xsimd::batch<Bits<T>, Arch> to_bits(Lane<T, Arch> x) {
#if XSIMD_VERSION_MAJOR < 11
  return xsimd::bitwise_cast<xsimd::batch<Bits<T>, Arch>>(x.raw);
#else
  return xsimd::bitwise_cast<Bits<T>>(x.raw);
#endif
}

template <class T, class Arch>
Lane<T, Arch> from_bits(xsimd::batch<Bits<T>, Arch> x) {
#if XSIMD_VERSION_MAJOR < 11
  return xsimd::bitwise_cast<xsimd::batch<T, Arch>>(x);
#else
  return xsimd::bitwise_cast<T>(x);
#endif
}

/// c₀ + c₁x + c₂x² + …
template <class L, class... C>
L polynomial(L x, C... c) {
  const L coefficients[]{L(c)...};
  L sum = coefficients[sizeof...(C) - 1];
  for (int i = static_cast<int>(sizeof...(C)) - 2; i >= 0; --i) sum = fma(sum, x, coefficients[i]);
  return sum;
}

/// Adding and subtracting it rounds a number of less than 2^(mantissa_bits − 1) to the nearest whole one,
/// which then stands in the lowest bits of the sum.
template <class T>
inline constexpr T round_magic = static_cast<T>(3) * static_cast<T>(Bits<T>{1} << (mantissa_bits<T> - 1));

/// 2^k for whole k within the exponents of normal numbers.
template <class T, class Arch>
Lane<T, Arch> power_of_two(Lane<T, Arch> k) {
  const auto whole = to_bits(k + round_magic<T>);
  const Bits<T> one = std::bit_cast<Bits<T>>(T{1});
  return from_bits<T, Arch>((whole << mantissa_bits<T>)+xsimd::batch<Bits<T>, Arch>(one));
}

/// x · 2^k for whole k, rounded once into the denormal numbers, infinite where it is too large.
template <class T, class Arch>
Lane<T, Arch> scale(Lane<T, Arch> x, Lane<T, Arch> k) {
#ifdef __AVX512F__
  if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
    if constexpr (sizeof(T) == 4)
      return {xsimd::batch<T, Arch>(_mm512_scalef_ps(x.raw, k.raw))};
    else
      return {xsimd::batch<T, Arch>(_mm512_scalef_pd(x.raw, k.raw))};
  }
#endif
  const Lane<T, Arch> half = (k * T{0.5} + round_magic<T>)-round_magic<T>;
  return x * power_of_two(half) * power_of_two(k - half);
}

/// ln 2 in two parts, the first with so few digits that its products with an exponent are exact.
template <class T>
inline constexpr T ln2_high = sizeof(T) == 4 ? T(0x1.62e3p-1) : T(0x1.62e42feep-1);
template <class T>
inline constexpr T ln2_low = sizeof(T) == 4 ? T(0x1.2fefa2p-17) : T(0x1.a39ef35793c76p-33);

/// a·b = high + low exactly, but for overflow.
template <class L>
void product(L a, L b, L& high, L& low) {
  high = a * b;
#ifdef __FMA__
  low = fma(a, b, -high);
#else
  // Dekker's product: each factor split in halves (T. J. Dekker, Numerische Mathematik 18, 1971).
  using T = typename L::Element;
  constexpr T splitter = static_cast<T>((Bits<T>{1} << ((mantissa_bits<T> + 2) / 2)) + 1);
  const L a_wide = splitter * a, b_wide = splitter * b;
  const L a1 = a_wide - (a_wide - a), a2 = a - a1;
  const L b1 = b_wide - (b_wide - b), b2 = b - b1;
  low = ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2;
#endif
}

}  // namespace detail

namespace detail {

/// e^r for |r| ≤ ½ ln 2
template <class T, class Arch>
Lane<T, Arch> exp_of_rest(Lane<T, Arch> r) {
  if constexpr (sizeof(T) == 4) {
    // Minimax coefficients of Cephes expf (S. L. Moshier).
    return fma(polynomial(r, 5.0000001201e-1f, 1.6666665459e-1f, 4.1665795894e-2f, 8.3334519073e-3f,
                          1.3981999507e-3f, 1.9875691500e-4f),
               r * r, r) +
           1;
  } else {
    // Taylor's series: the first term left out, r^14 / 14!, is below 2^-57.
    return fma(polynomial(r, 1. / 2, 1. / 6, 1. / 24, 1. / 120, 1. / 720, 1. / 5040, 1. / 40320, 1. / 362880,
                          1. / 3628800, 1. / 39916800, 1. / 479001600, 1. / 6227020800),
               r * r, r) +
           1;
  }
}

/// e^(x + low) for a low below the last digits of x.
template <class T, class Arch>
Lane<T, Arch> exp_of_sum(Lane<T, Arch> x, Lane<T, Arch> low) {
  using L = Lane<T, Arch>;
  constexpr T least = sizeof(T) == 4 ? T(-104) : T(-746), most = sizeof(T) == 4 ? T(89) : T(710);
  // The second number wins where one is NaN, so that NaN stays.
  const L a{xsimd::max(L(least).raw, xsimd::min(L(most).raw, x.raw))};
  const L k = (a * std::numbers::log2e_v<T> + round_magic<T>)-round_magic<T>;
  L r = fma(-k, L(ln2_high<T>), a);
  r = fma(-k, L(ln2_low<T>), r) + low;
  return scale(exp_of_rest(r), k);
}

}  // namespace detail

/// e^x
template <class T, class Arch>
Lane<T, Arch> exp(Lane<T, Arch> x) {
  return detail::exp_of_sum(x, Lane<T, Arch>(0));
}

/// e^x for x ≤ 0, but 0 where it is below the normal numbers: for weights, where so little counts for
/// nothing.
template <class T, class Arch>
Lane<T, Arch> exp_of_negative(Lane<T, Arch> x) {
  using L = Lane<T, Arch>;
  using namespace detail;
  constexpr T least = sizeof(T) == 4 ? T(-87) : T(-708);
  const L a{xsimd::max(L(least).raw, x.raw)};  // NaN, as the second number, wins
  const L whole = fma(a, L(std::numbers::log2e_v<T>), L(round_magic<T>));
  const L k = whole - round_magic<T>;
  const L r = fma(-k, L(ln2_low<T>), fma(-k, L(ln2_high<T>), a));
  const xsimd::batch<Bits<T>, Arch> one(std::bit_cast<Bits<T>>(T{1}));
  const L power = from_bits<T, Arch>((to_bits(whole) << mantissa_bits<T>)+one);
  return select(x < least, L(0), exp_of_rest(r) * power);
}

/// Natural logarithm: −∞ at 0, NaN below.
template <class T, class Arch>
Lane<T, Arch> log(Lane<T, Arch> x) {
  using L = Lane<T, Arch>;
  if constexpr (sizeof(T) == 4) {
    return xsimd::log(x.raw);
  } else {  // xsimd 8 is wrong for denormal numbers
    const auto tiny = x < std::numeric_limits<T>::min();
    const L y = xsimd::log(select(tiny, x * 0x1p54, x).raw);
    return select(tiny, y - 54 * std::numbers::ln2_v<T>, y);
  }
}

/// ln(1 + x), exact for small x.
template <class T, class Arch>
Lane<T, Arch> log1p(Lane<T, Arch> x) {
  return select(x == 0, x, Lane<T, Arch>(xsimd::log1p(x.raw)));  // xsimd's loses the sign of −0
}

/// e^x − 1, exact for small x.
template <class T, class Arch>
Lane<T, Arch> expm1(Lane<T, Arch> x) {
  // xsimd's loses the sign of −0 and overflows too soon; above 40 the 1 is below the last digit.
  const Lane<T, Arch> y = select(x > 40, exp(x), Lane<T, Arch>(xsimd::expm1(x.raw)));
  return select(x == 0, x, y);
}

template <class T, class Arch>
Lane<T, Arch> tanh(Lane<T, Arch> x) {
  return xsimd::tanh(x.raw);
}

/// The error function 2/√π ∫₀ˣ e^(−t²) dt.
template <class T, class Arch>
Lane<T, Arch> erf(Lane<T, Arch> x) {
  // Beyond ±6 erf is ±1; xsimd gives NaN where x² overflows.
  return xsimd::erf(max(Lane<T, Arch>(-6), min(Lane<T, Arch>(6), x)).raw);
}

namespace detail {

/// Which quarter turn x lies nearest to (quarter, a whole number), and the angle left, in ±π/4. Right for
/// |x| ≤ turn_limit.
template <class T>
inline constexpr T turn_limit = sizeof(T) == 4 ? T(8192) : T(0x1p20);

template <class L>
void reduce_angle(L x, L& quarter, L& angle) {
  using T = typename L::Element;
  quarter = (x * static_cast<T>(2 / std::numbers::pi) + round_magic<T>)-round_magic<T>;
  if constexpr (sizeof(T) == 4) {
    // π/2 in four parts; the first three have at most 11 digits, so that their products are exact.
    angle = ((x - quarter * 0x1.92p0f) - quarter * 0x1.fb4p-12f) - quarter * 0x1.444p-24f;
    angle = angle - quarter * 0x1.68c234p-39f;
  } else {
    // π/2 in parts of 33 digits, and what is left of each step carried on (W. J. Cody and W. Waite; fdlibm).
    constexpr double part1 = 0x1.921fb544p0, part2 = 0x1.0b4611a6p-34, part3 = 0x1.3198a2ep-69;
    constexpr double rest3 = 0x1.b839a252049c1p-104;
    const L a = x - quarter * part1;
    const L step2 = quarter * part2;
    const L b = a - step2;
    const L step3 = quarter * part3;
    const L c = b - step3;
    const L lost = ((a - b) - step2) + (((b - c) - step3) - quarter * rest3);
    angle = c + lost;
  }
}

/// sin and cos of an angle in ±π/4 (coefficients of fdlibm and Cephes).
template <class L>
L sin_near_zero(L x) {
  const L z = x * x;
  if constexpr (sizeof(typename L::Element) == 4)
    return fma(polynomial(z, -1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f) * z, x, x);
  else
    return fma(
        polynomial(z, -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04,
                   2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10) *
            z,
        x, x);
}
template <class L>
L cos_near_zero(L x) {
  const L z = x * x;
  L tail;
  if constexpr (sizeof(typename L::Element) == 4)
    tail = polynomial(z, 4.166664568298827e-2f, -1.388731625493765e-3f, 2.443315711809948e-5f);
  else
    tail = polynomial(z, 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05,
                      -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11);
  return fma(tail, z * z, fma(z, L(-0.5), L(1)));
}

/// sin(x + shift · π/2)
template <int shift, class T, class Arch>
Lane<T, Arch> sine(Lane<T, Arch> x) {
  using L = Lane<T, Arch>;
  const auto large = !(abs(x) <= turn_limit<T>);  // NaN too
  L quarter, angle;
  reduce_angle(select(large, L(0), x), quarter, angle);
  const L turn = quarter + shift;
  const L half = (turn * T(0.5) + round_magic<T>)-round_magic<T>;  // which of two neighbours does not matter
  const auto odd = half * 2 != turn;
  // turn mod 4 as 0 … 3
  const L four = turn - 4 * ((turn * T(0.25) - T(0.375) + round_magic<T>)-round_magic<T>);
  L y = select(odd, cos_near_zero(angle), sin_near_zero(angle));
  y = select(four >= 2, -y, y);
  if (any(large)) [[unlikely]] {
    alignas(64) T in[L::size], out[L::size];
    x.store(in);
    y.store(out);
    for (std::int64_t i = 0; i < L::size; ++i)
      if (!(abs(in[i]) <= turn_limit<T>)) out[i] = shift == 0 ? std::sin(in[i]) : std::cos(in[i]);
    y = L::load(out);
  }
  return y;
}

}  // namespace detail

template <class T, class Arch>
Lane<T, Arch> sin(Lane<T, Arch> x) {
  return select(x == 0, x, detail::sine<0>(x));
}

template <class T, class Arch>
Lane<T, Arch> cos(Lane<T, Arch> x) {
  return detail::sine<1>(x);
}

namespace detail {

/// ln x = high + low for finite x > 0, about 2^-10 times more exact than one number can say it.
template <class T, class Arch>
void log_in_two(Lane<T, Arch> x, Lane<T, Arch>& high, Lane<T, Arch>& low) {
  using L = Lane<T, Arch>;
  using B = Bits<T>;
  constexpr int digits = mantissa_bits<T>;
  // x = m · 2^k with √½ ≤ m ≤ √2
  const auto tiny = x < std::numeric_limits<T>::min();
  const T lift = static_cast<T>(B{1} << (digits + 2));
  const auto bits = to_bits(select(tiny, x * lift, x));
  const B one = std::bit_cast<B>(T{1}), unit = std::bit_cast<B>(static_cast<T>(B{1} << digits));
  // The biased exponent, in the lowest bits of 2^digits, read back as a number.
  L k = from_bits<T, Arch>((bits >> digits) | xsimd::batch<B, Arch>(unit)) - static_cast<T>(B{1} << digits) -
        static_cast<T>(std::numeric_limits<T>::max_exponent - 1);
  k = select(tiny, k - static_cast<T>(digits + 2), k);
  L m = from_bits<T, Arch>((bits & xsimd::batch<B, Arch>((B{1} << digits) - 1)) | xsimd::batch<B, Arch>(one));
  const auto above = m > std::numbers::sqrt2_v<T>;
  m = select(above, m * T(0.5), m);
  k = select(above, k + 1, k);
  // ln m = 2 artanh s with s = (m − 1) / (m + 1), in two parts; series in s² from fdlibm.
  const L f = m - 1, u = m + 1, u_low = m - (u - 1);
  const L s = f / u;
  L p, p_low;
  product(s, u, p, p_low);
  const L s_low = (((f - p) - p_low) - s * u_low) / u;
  const L z = s * s;
  L series;
  if constexpr (sizeof(T) == 4)
    series = polynomial(z, 0.66666662693f, 0.40000972152f, 0.28498786688f, 0.24279078841f);
  else
    series = polynomial(z, 6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                        2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                        1.479819860510658591e-01);
  const L a = k * ln2_high<T>, b = 2 * s;
  const L sum = a + b;
  const L rest = ((a - sum) + b) + (k * ln2_low<T> + (2 * s_low + s * z * series));
  high = sum + rest;
  low = (sum - high) + rest;
}

/// base^n for a whole number n by repeated squaring.
template <class L>
L power(L base, std::int64_t n) {
  std::uint64_t left = n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  L result = 1;
  for (L square = base; left != 0; left >>= 1) {
    if (left & 1) result = result * square;
    if (left > 1) square = square * square;
  }
  return n < 0 ? 1 / result : result;
}

}  // namespace detail

/// a^b as C's pow: pow(x, 0) = pow(1, y) = 1, whatever else; a negative base needs a whole exponent, else
/// NaN.
template <class T, class Arch>
Lane<T, Arch> pow(Lane<T, Arch> a, std::type_identity_t<Lane<T, Arch>> b) {
  using L = Lane<T, Arch>;
  constexpr T infinity = std::numeric_limits<T>::infinity();
  const L size = abs(a);
  const auto ordinary = size > 0 && size < infinity;
  L high, low;
  detail::log_in_two(select(ordinary, size, L(1)), high, low);
  L p, p_low;
  detail::product(high, b, p, p_low);
  p_low = p_low + low * b;
  const auto in_range = abs(p) < 2000 && abs(p_low) < 1;  // else e^p is 0 or infinite, or p_low is NaN
  L y = detail::exp_of_sum(p, select(in_range, p_low, L(0)));
  // Base 0 or infinite: 0, 1 or infinite by the sign of the exponent.
  const auto grows = (size > 1 && b > 0) || (size < 1 && b < 0);
  y = select(ordinary, y, select(grows, L(infinity), L(0)));
  // From 2^digits on every number is whole and even; below, halves tell.
  const L b_size = abs(b), limit = static_cast<T>(detail::Bits<T>{1} << detail::mantissa_bits<T>);
  const auto rounded = [&](L x) { return select(x < limit, (x + limit) - limit, x); };
  const auto whole = b_size >= limit || rounded(b_size) == b_size;
  const auto odd = whole && b_size < 2 * limit && rounded(b_size * T(0.5)) != b_size * T(0.5);
  const auto negative = a < 0 || (a == 0 && 1 / a < 0);
  y = select(negative && odd, -y, y);
  y = select(a < 0 && a > -infinity && !whole, L(std::numeric_limits<T>::quiet_NaN()), y);
  y = select(a == -1 && b_size == infinity, L(1), y);
  y = select(a != a || b != b, a + b, y);
  return select(b == 0 || a == 1, L(1), y);
}

/// The same base for all exponents.
template <class T, class Arch, Number N>
Lane<T, Arch> pow(N a, Lane<T, Arch> b) {
  return pow(Lane<T, Arch>(a), b);
}

/// A whole number as exponent: products only.
template <class T, class Arch, std::integral N>
Lane<T, Arch> pow(Lane<T, Arch> a, N n) {
  return detail::power(a, static_cast<std::int64_t>(n));
}

}  // namespace pencil::kernels
