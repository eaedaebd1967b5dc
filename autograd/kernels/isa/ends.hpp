// The ends of rows: a last lane whose missing numbers must be something else than 0, and the largest of a
// lane.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "autograd/kernels/lane.hpp"

namespace pencil::kernels {
namespace {

template <class T>
alignas(64) constexpr T counting[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/// The first n numbers of a (n ≥ size: all), the others `rest`.
template <class T, class Arch>
Lane<T, Arch> keep_first(Lane<T, Arch> a, std::int64_t n, T rest) {
  using L = Lane<T, Arch>;
  return select(L::load(counting<T>) < L(static_cast<T>(n)), a, L(rest));
}

/// reduce_max without its chain of comparisons, where the instruction set has something better.
template <class T, class Arch>
T largest_of(Lane<T, Arch> a) {
#ifdef __AVX512F__
  if constexpr (std::is_base_of_v<xsimd::avx512f, Arch>) {
    if (any(a != a)) return std::numeric_limits<T>::quiet_NaN();
    if constexpr (sizeof(T) == 4)
      return _mm512_reduce_max_ps(a.raw);
    else
      return _mm512_reduce_max_pd(a.raw);
  }
#endif
#ifdef __AVX2__
  if constexpr (std::is_base_of_v<xsimd::avx2, Arch> && sizeof(T) == 4) {
    if (any(a != a)) return std::numeric_limits<T>::quiet_NaN();
    __m128 most = _mm_max_ps(_mm256_castps256_ps128(a.raw), _mm256_extractf128_ps(a.raw, 1));
    most = _mm_max_ps(most, _mm_movehl_ps(most, most));
    return _mm_cvtss_f32(_mm_max_ss(most, _mm_movehdup_ps(most)));
  }
#endif
  return reduce_max(a);
}

}  // namespace
}  // namespace pencil::kernels
