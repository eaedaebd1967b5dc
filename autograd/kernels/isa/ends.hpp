// The last lane of a row, where the numbers that are not there must be something else than 0.
#pragma once

#include <cstdint>

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

}  // namespace
}  // namespace pencil::kernels
