#pragma once

#include <cstdint>

#include "autograd/kernels/dispatch.hpp"

namespace pencil::kernels {

/// The products of attention, for tiles small enough to stay in the nearest cache. At these sizes BLAS spends
/// as much time on arranging its factors as on multiplying them; here the one factor that needs it is packed
/// once a head. On the caller's thread; sums of one number have an order that depends on the sizes only.
///
/// Packed means in panels: `panel` rows of x (rows, width) side by side, column by column, so that a panel is
/// (width, panel); the last is filled up with zeros. Rows of the other matrices are `_stride` numbers apart.
template <class T>
struct TileProducts {
  /// How many rows a panel has: packed(rows) = rows rounded up to a multiple of it, times width, numbers.
  std::int64_t panel;

  void (*pack)(std::int64_t rows, std::int64_t width, const T* x, std::int64_t x_stride, T* packed);

  /// y (m, n) = factor · a (m, k) bᵀ, b (n, k) packed. Writes y's columns up to the next multiple of
  /// `panel`.
  void (*times_packed)(std::int64_t m, std::int64_t n, std::int64_t k, T factor, const T* a,
                       std::int64_t a_stride, const T* packed, T* y, std::int64_t y_stride);

  /// y (m, n) = a (m, k) b (k, n), each row of it times its factor (all 1 where null); added to y if `add`.
  void (*times)(std::int64_t m, std::int64_t n, std::int64_t k, const T* factors, const T* a,
                std::int64_t a_stride, const T* b, std::int64_t b_stride, bool add, T* y,
                std::int64_t y_stride);

  /// y (m, n) += aᵀ b, a (k, m), b (k, n)
  void (*add_transposed_times)(std::int64_t m, std::int64_t n, std::int64_t k, const T* a,
                               std::int64_t a_stride, const T* b, std::int64_t b_stride, T* y,
                               std::int64_t y_stride);
};

template <class T, Isa>
const TileProducts<T>& tile_products();

}  // namespace pencil::kernels
