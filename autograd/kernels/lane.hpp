// Lane<T, Arch>: as many numbers as one SIMD register of the instruction set Arch holds, computed side by
// side. The only header that includes xsimd (8.1 or newer); what differs between its versions is settled
// here.
//
// 1. Arch is part of the type: no symbol that uses lanes is shared between instruction sets.
// 2. A comparison gives a LaneMask, one answer a number. It has no bool: write select(condition, a, b).
// 3. min and max keep NaN. An operation gives a number the same bits whatever numbers stand beside it.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>

// g++ 12 reports its own AVX-512 intrinsics, which start from a deliberately undefined register.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#if defined(__GNUC__) && !defined(__clang__) && !defined(__OPTIMIZE__) && defined(__AVX512BW__)
// Without optimisation these are macros that do not take xsimd's batches for vectors.
#include <immintrin.h>
#undef _mm512_mask_blend_epi8
#undef _mm512_mask_blend_epi16
inline __m512i _mm512_mask_blend_epi8(__mmask64 mask, __m512i a, __m512i b) {
  return reinterpret_cast<__m512i>(
      __builtin_ia32_blendmb_512_mask(reinterpret_cast<__v64qi>(a), reinterpret_cast<__v64qi>(b), mask));
}
inline __m512i _mm512_mask_blend_epi16(__mmask32 mask, __m512i a, __m512i b) {
  return reinterpret_cast<__m512i>(
      __builtin_ia32_blendmw_512_mask(reinterpret_cast<__v32hi>(a), reinterpret_cast<__v32hi>(b), mask));
}
#endif
#include <xsimd/xsimd.hpp>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#include "autograd/kernels/numbers.hpp"

namespace pencil::kernels {

/// The widest lanes that the flags of the including file allow.
#if defined(__AVX512F__) && defined(__AVX512CD__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && \
    defined(__AVX512BW__)
using BestArch = xsimd::avx512bw;
#elif defined(__AVX2__) && defined(__FMA__)
using BestArch = xsimd::fma3<xsimd::avx2>;
#elif defined(__x86_64__)
using BestArch = xsimd::sse2;
#else
using BestArch = xsimd::default_arch;
#endif

namespace detail {
template <class>
inline constexpr bool never = false;

template <class L>
L load_first(const typename L::Element* p, std::int64_t n);
template <class L>
void store_first(L x, typename L::Element* p, std::int64_t n);
}  // namespace detail

template <class T, class Arch = BestArch>
struct Lane;

/// A yes or no for each number of a lane.
template <class T, class Arch = BestArch>
struct LaneMask {
  using Raw = xsimd::batch_bool<T, Arch>;
  Raw raw;

  LaneMask(Raw r) : raw(r) {}
  LaneMask(bool all) : raw(all) {}

  template <class B>
  requires std::is_same_v<B, bool>
  explicit operator B() const {
    static_assert(detail::never<B>,
                  "a comparison of lanes has one answer for each number: write select(condition, a, b)");
    return false;
  }

  friend LaneMask operator&&(LaneMask a, LaneMask b) { return Raw(a.raw & b.raw); }
  friend LaneMask operator||(LaneMask a, LaneMask b) { return Raw(a.raw | b.raw); }
  // Of xsimd 8, ! is slow on AVX2, and ^ of conditions is wrong on AVX-512: it is |.
  friend LaneMask operator!(LaneMask a) {
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>)
      return Raw(!a.raw);
    else
      return Raw(a.raw ^ Raw(true));
  }
  friend LaneMask operator&(LaneMask a, LaneMask b) { return a && b; }
  friend LaneMask operator|(LaneMask a, LaneMask b) { return a || b; }
  friend bool any(LaneMask m) { return xsimd::any(m.raw); }
  friend bool all(LaneMask m) { return xsimd::all(m.raw); }

  /// For each number: a where the condition holds, else b. What is not taken leaves no trace, be it NaN or
  /// infinite.
  friend Lane<T, Arch> select(LaneMask condition, Lane<T, Arch> a, Lane<T, Arch> b) {
    return {xsimd::select(condition.raw, a.raw, b.raw)};
  }
};

template <class T, class Arch>
struct Lane {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "lanes hold float or double");
  using Element = T;
  using Raw = xsimd::batch<T, Arch>;
  using Mask = LaneMask<T, Arch>;
  static constexpr std::int64_t size = static_cast<std::int64_t>(Raw::size);

  Raw raw;

  Lane() : raw(T{0}) {}
  Lane(Raw r) : raw(r) {}
  /// The same number everywhere.
  template <Number N>
  Lane(N number) : raw(static_cast<T>(number)) {}

  static Lane load(const T* p) { return Raw::load_unaligned(p); }
  void store(T* p) const { raw.store_unaligned(p); }

  /// The first n numbers of a lane (1 ≤ n; size and more mean all of them), the others 0. Touches nothing
  /// past p + n.
  static Lane load_first(const T* p, std::int64_t n) { return detail::load_first<Lane>(p, n); }
  void store_first(T* p, std::int64_t n) const { detail::store_first(*this, p, n); }

  Lane& operator+=(Lane b) { return *this = *this + b; }
  Lane& operator-=(Lane b) { return *this = *this - b; }
  Lane& operator*=(Lane b) { return *this = *this * b; }
  Lane& operator/=(Lane b) { return *this = *this / b; }

  friend Lane operator+(Lane a) { return a; }
  friend Lane operator-(Lane a) { return Raw(a.raw ^ Raw(T(-0.0))); }  // xsimd's gives -(0) = 0
  friend Lane operator+(Lane a, Lane b) { return Raw(a.raw + b.raw); }
  friend Lane operator-(Lane a, Lane b) { return Raw(a.raw - b.raw); }
  friend Lane operator*(Lane a, Lane b) { return Raw(a.raw * b.raw); }
  friend Lane operator/(Lane a, Lane b) { return Raw(a.raw / b.raw); }

  friend Mask operator<(Lane a, Lane b) { return a.raw < b.raw; }
  friend Mask operator<=(Lane a, Lane b) { return a.raw <= b.raw; }
  friend Mask operator>(Lane a, Lane b) { return a.raw > b.raw; }
  friend Mask operator>=(Lane a, Lane b) { return a.raw >= b.raw; }
  friend Mask operator==(Lane a, Lane b) { return a.raw == b.raw; }
  friend Mask operator!=(Lane a, Lane b) { return !Mask(a.raw == b.raw); }  // xsimd 8's misses NaN on AVX-512

  /// a·b + c, rounded once where the instruction set can.
  friend Lane fma(Lane a, Lane b, Lane c) {
#ifdef __AVX512F__  // xsimd 8's rounds twice
    if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
      if constexpr (sizeof(T) == 4)
        return Raw(_mm512_fmadd_ps(a.raw, b.raw, c.raw));
      else
        return Raw(_mm512_fmadd_pd(a.raw, b.raw, c.raw));
    }
#endif
    return Raw(xsimd::fma(a.raw, b.raw, c.raw));
  }
  friend Lane abs(Lane a) { return Raw(xsimd::abs(a.raw)); }
  friend Lane sqrt(Lane a) { return Raw(xsimd::sqrt(a.raw)); }
  friend Lane rsqrt(Lane a) { return 1 / sqrt(a); }

  // The processor's max and min give the second number when either is NaN.
  friend Lane max(Lane a, Lane b) { return select(a == a, Lane(xsimd::max(a.raw, b.raw)), a); }
  friend Lane min(Lane a, Lane b) { return select(a == a, Lane(xsimd::min(a.raw, b.raw)), a); }

  /// A condition on plain numbers chooses for all numbers of the lane at once.
  template <std::same_as<bool> B>
  friend Lane select(B condition, Lane a, Lane b) {
    return condition ? a : b;
  }

  /// x as a number that no derivative reaches.
  friend Lane constant(Lane a) { return a; }

  /// The sum of the numbers of one lane, in an order that depends on the lane's size only.
  friend T reduce_add(Lane a) {
#if XSIMD_VERSION_MAJOR < 9
    return xsimd::hadd(a.raw);
#else
    return xsimd::reduce_add(a.raw);
#endif
  }
  /// The largest number of one lane; NaN if there is one.
  friend T reduce_max(Lane a) {
    alignas(64) T numbers[static_cast<std::size_t>(size)];
    a.raw.store_aligned(numbers);
    T largest = numbers[0];
    for (std::int64_t i = 1; i < size; ++i) largest = max(largest, numbers[i]);
    return largest;
  }
};

}  // namespace pencil::kernels

#include "autograd/kernels/lane_ends.hpp"
#include "autograd/kernels/lane_math.hpp"
