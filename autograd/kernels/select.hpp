#pragma once

#include <cstdint>

/// Comparisons and choices, number by number over n of them. For float, double and std::int32_t.
namespace pencil::kernels {

enum class Comparison : std::uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };

/// y = 1 where a compares to b as said, else 0; NaN compares as IEEE 754 has it.
template <class T>
void compare(Comparison comparison, std::int64_t n, const T* a, const T* b, std::int32_t* y);

/// y = a where the condition is not 0, else b.
template <class T>
void select(std::int64_t n, const std::int32_t* condition, const T* a, const T* b, T* y);

/// y = value where the mask is not 0, else x.
template <class T>
void masked_fill(std::int64_t n, const T* x, const std::int32_t* mask, T value, T* y);

/// y = x / (1 − rate) where the counter key + i comes out at `rate` or above, else 0 (see dropout.hpp of the
/// ops); 0 everywhere for rate 1. For float and double.
template <class T>
void dropout(std::int64_t n, double rate, std::uint64_t key, const T* x, T* y);

}  // namespace pencil::kernels
