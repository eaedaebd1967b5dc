#pragma once

#include <cstdint>

#include "autograd/kernels/dispatch.hpp"

namespace pencil::kernels {

/// Which keys the rows of a tile of scores may look at: row r the first `first` + r · `step` of them (step 1
/// for causal attention, else 0), as far as there are so many, and of those the ones whose mask is not 0
/// (all, if mask is null).
struct Visible {
  const std::int32_t* mask = nullptr;
  std::int64_t row_stride = 0;
  std::int64_t key_stride = 0;
  std::int64_t first = 0;
  std::int64_t step = 0;

  /// Whether a row may look at a key.
  bool sees(std::int64_t row, std::int64_t key) const {
    return key < first + row * step && (mask == nullptr || mask[row * row_stride + key * key_stride] != 0);
  }
  /// The same for the keys from number `key` on.
  Visible from(std::int64_t key) const {
    return {mask == nullptr ? nullptr : mask + key * key_stride, row_stride, key_stride, first - key, step};
  }
};

/// Tiles are (rows ≤ most_rows, keys) with rows `pitch` numbers apart; a pitch is a multiple of a panel
/// (tile_products.hpp), and what stands between keys and pitch may be overwritten.
inline constexpr std::int64_t most_rows = 128;

template <class T>
struct AttentionTable {
  /// Scores become weights but for a factor a row: weight = factor · score after. weight = exp(score − lse),
  /// lse = log Σ exp(score) over the visible keys, and 0 for the others. A row that sees none gets zeros, lse
  /// −∞ and factor 1.
  void (*weights)(std::int64_t rows, std::int64_t keys, std::int64_t pitch, const Visible& visible, T* scores,
                  T* lse, T* factors);

  /// The same weights from scores and lse, and dweights become dscores = weights (dweights − Σ dout out)
  /// scale. out and dout are (rows, width), rows `stride` numbers apart.
  void (*gradients)(std::int64_t rows, std::int64_t keys, std::int64_t pitch, const Visible& visible, T scale,
                    const T* lse, std::int64_t width, std::int64_t stride, const T* out, const T* dout,
                    T* scores, T* dweights);

  /// Whether no number of x (rows, width), rows `stride` numbers apart, is infinite or NaN.
  bool (*finite)(std::int64_t rows, std::int64_t width, std::int64_t stride, const T* x);
};

template <class T, Isa>
const AttentionTable<T>& attention_table();

}  // namespace pencil::kernels
