// The lane at the end of an array, which is only partly there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "autograd/kernels/lane.hpp"

namespace pencil::kernels::detail {

#ifdef __AVX2__
/// The lanes below n as a mask of 8 floats or 4 doubles.
template <class T>
__m256i first_of_256(std::int64_t n) {
  const int count = static_cast<int>(n < 8 ? n : 8);
  if constexpr (sizeof(T) == 4)
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  else
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
#endif

#ifdef __AVX512F__
/// The lanes below n as a bit mask.
inline constexpr auto first_bits = [](std::int64_t n) {
  return static_cast<std::uint16_t>(n < 16 ? (1u << n) - 1u : 0xffffu);
};
#endif

template <class L>
L load_first(const typename L::Element* p, std::int64_t n) {
  using T = typename L::Element;
  using Raw [[maybe_unused]] = typename L::Raw;
#ifdef __AVX512F__
  if constexpr (std::is_base_of_v<xsimd::avx512f, typename Raw::arch_type>) {
    if constexpr (sizeof(T) == 4)
      return Raw(_mm512_maskz_loadu_ps(first_bits(n), p));
    else
      return Raw(_mm512_maskz_loadu_pd(static_cast<__mmask8>(first_bits(n)), p));
  } else
#endif
#ifdef __AVX2__
      if constexpr (std::is_base_of_v<xsimd::avx2, typename Raw::arch_type>) {
    if (n >= L::size) return L::load(p);
    if constexpr (sizeof(T) == 4)
      return Raw(_mm256_maskload_ps(p, first_of_256<T>(n)));
    else
      return Raw(_mm256_maskload_pd(p, first_of_256<T>(n)));
  } else
#endif
  {
    if (n >= L::size) return L::load(p);
    alignas(64) T padded[L::size] = {};
    std::copy_n(p, n, padded);
    return L::load(padded);
  }
}

template <class L>
void store_first(L x, typename L::Element* p, std::int64_t n) {
  using T = typename L::Element;
#ifdef __AVX512F__
  if constexpr (std::is_base_of_v<xsimd::avx512f, typename L::Raw::arch_type>) {
    if constexpr (sizeof(T) == 4)
      _mm512_mask_storeu_ps(p, first_bits(n), x.raw);
    else
      _mm512_mask_storeu_pd(p, static_cast<__mmask8>(first_bits(n)), x.raw);
  } else
#endif
#ifdef __AVX2__
      if constexpr (std::is_base_of_v<xsimd::avx2, typename L::Raw::arch_type>) {
    if (n >= L::size) return x.store(p);
    if constexpr (sizeof(T) == 4)
      _mm256_maskstore_ps(p, first_of_256<T>(n), x.raw);
    else
      _mm256_maskstore_pd(p, first_of_256<T>(n), x.raw);
  } else
#endif
  {
    if (n >= L::size) return x.store(p);
    alignas(64) T padded[L::size];
    x.store(padded);
    std::copy_n(padded, n, p);
  }
}

}  // namespace pencil::kernels::detail
