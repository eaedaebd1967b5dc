#include "autograd/kernels/isa/tile_products.hpp"

#include <cstddef>

#include "autograd/kernels/isa/set.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

template <class T>
using L = Lane<T, this_arch>;

template <class T>
constexpr Size panel_rows = 2 * L<T>::size;

/// How many rows of two lanes each fill the registers, but for those that hold the factors.
constexpr int most_rows_at_once = L<float>::size == 16 ? 12 : 6;

/// A factor: number (i, j) is at data[i · row + j · column].
template <class T>
struct Factor {
  const T* data;
  Size row, column;
  Factor from_row(Size i) const { return {data + i * row, row, column}; }
};

/// The sums of `rows` rows and `lanes` lanes of a product over k, held in registers. A partial block has
/// `left` columns, of which the last lane need not be there whole.
template <class T, int rows, int lanes, bool partial>
struct Block {
  L<T> sums[std::size_t{rows}][std::size_t{lanes}];

  [[gnu::always_inline]] Block(Size k, Factor<T> a, const T* b, Size b_stride, Size left) {
    for (Size step = 0; step < k; ++step, b += b_stride) {
      L<T> y[std::size_t{lanes}];
#pragma GCC unroll 2
      for (int c = 0; c < lanes; ++c)
        y[c] = partial && c == lanes - 1 ? L<T>::load_first(b + c * L<T>::size, left - c * L<T>::size)
                                         : L<T>::load(b + c * L<T>::size);
      const T* x = a.data + step * a.column;
#pragma GCC unroll 16
      for (int r = 0; r < rows; ++r) {
        const L<T> one(x[r * a.row]);
#pragma GCC unroll 2
        for (int c = 0; c < lanes; ++c) sums[r][c] = fma(one, y[c], sums[r][c]);
      }
    }
  }

  /// Calls write(row, place, sum, numbers of this lane) for every lane.
  template <class Write>
  [[gnu::always_inline]] void each(Size left, const Write& write) const {
#pragma GCC unroll 16
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 2
      for (int c = 0; c < lanes; ++c) {
        const Size at = c * L<T>::size;
        write(r, at, sums[r][c], partial && c == lanes - 1 ? left - at : L<T>::size);
      }
  }
};

template <class T>
[[gnu::always_inline]] inline void store(L<T> x, T* p, Size n) {
  if (n >= L<T>::size)
    x.store(p);
  else
    x.store_first(p, n);
}

/// Goes through m rows in blocks of as many as fit the registers, then of fewer: calls
/// f.operator()<rows>(first).
template <int rows, class F>
[[gnu::always_inline]] inline void in_blocks(Size m, const F& f, Size first = 0) {
  for (; first + rows <= m; first += rows) f.template operator()<rows>(first);
  if constexpr (rows > 1) {
    constexpr int fewer = rows > 8 ? 8 : rows > 4 ? 4 : rows / 2;
    if (first < m) in_blocks<fewer>(m, f, first);
  }
}

/// Goes through n columns two lanes at a time: calls f.operator()<lanes, partial>(first, left).
template <class T, class F>
[[gnu::always_inline]] inline void in_lanes(Size n, const F& f) {
  constexpr Size one = L<T>::size, two = 2 * one;
  Size first = 0;
  for (; first + two <= n; first += two) f.template operator()<2, false>(first, two);
  if (const Size left = n - first; left > one)
    f.template operator()<2, true>(first, left);
  else if (left == one)
    f.template operator()<1, false>(first, left);
  else if (left > 0)
    f.template operator()<1, true>(first, left);
}

#ifdef __AVX2__
/// y (8, 8) = xᵀ
void transpose8(const float* x, Size x_stride, float* y, Size y_stride) {
  __m256 rows[8], pairs[8], fours[8];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) rows[i] = _mm256_loadu_ps(x + i * x_stride);
#pragma GCC unroll 4
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 8; i += 4)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      fours[i + 2 * j] = _mm256_shuffle_ps(pairs[i + j], pairs[i + j + 2], 0x44);
      fours[i + 2 * j + 1] = _mm256_shuffle_ps(pairs[i + j], pairs[i + j + 2], 0xee);
    }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    _mm256_storeu_ps(y + i * y_stride, _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20));
    _mm256_storeu_ps(y + (i + 4) * y_stride, _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31));
  }
}
#endif

/// packed (width, panel) = xᵀ for up to `panel` rows of x; zeros where there are fewer.
template <class T>
void pack_panel(Size rows, Size width, const T* x, Size x_stride, T* packed) {
  constexpr Size panel = panel_rows<T>;
  Size done = 0;  // columns
#ifdef __AVX2__
  if constexpr (sizeof(T) == 4)
    if (rows == panel)
      for (; done + 8 <= width; done += 8)
        for (Size r = 0; r < panel; r += 8)
          transpose8(x + r * x_stride + done, x_stride, packed + done * panel + r, panel);
#endif
  for (; done < width; ++done)
    for (Size r = 0; r < panel; ++r) packed[done * panel + r] = r < rows ? x[r * x_stride + done] : 0;
}

template <class T>
void pack(Size rows, Size width, const T* x, Size x_stride, T* packed) {
  constexpr Size panel = panel_rows<T>;
  for (; rows > 0; rows -= panel, x += panel * x_stride, packed += panel * width)
    pack_panel(rows < panel ? rows : panel, width, x, x_stride, packed);
}

template <class T>
void times_packed(Size m, Size n, Size k, T factor, const T* a, Size a_stride, const T* packed, T* y,
                  Size y_stride) {
  const Factor<T> left{a, a_stride, 1};
  for (Size j = 0; j < n; j += panel_rows<T>, packed += panel_rows<T> * k)
    in_blocks<most_rows_at_once>(m, [&]<int rows>(Size i) {
      const Block<T, rows, 2, false> block(k, left.from_row(i), packed, panel_rows<T>, 0);
      block.each(
          0, [&](Size r, Size at, L<T> sum, Size) { (sum * factor).store(y + (i + r) * y_stride + j + at); });
    });
}

template <class T>
void times(Size m, Size n, Size k, const T* factors, const T* a, Size a_stride, const T* b, Size b_stride,
           bool add, T* y, Size y_stride) {
  const Factor<T> left{a, a_stride, 1};
  in_lanes<T>(n, [&]<int lanes, bool partial>(Size j, Size columns) {
    in_blocks<most_rows_at_once>(m, [&]<int rows>(Size i) {
      const Block<T, rows, lanes, partial> block(k, left.from_row(i), b + j, b_stride, columns);
      block.each(columns, [&](Size r, Size at, L<T> sum, Size count) {
        T* const to = y + (i + r) * y_stride + j + at;
        if (factors != nullptr) sum *= factors[i + r];
        store<T>(add ? L<T>::load_first(to, count) + sum : sum, to, count);
      });
    });
  });
}

template <class T>
void add_transposed_times(Size m, Size n, Size k, const T* a, Size a_stride, const T* b, Size b_stride, T* y,
                          Size y_stride) {
  const Factor<T> left{a, 1, a_stride};
  in_lanes<T>(n, [&]<int lanes, bool partial>(Size j, Size columns) {
    in_blocks<most_rows_at_once>(m, [&]<int rows>(Size i) {
      const Block<T, rows, lanes, partial> block(k, left.from_row(i), b + j, b_stride, columns);
      block.each(columns, [&](Size r, Size at, L<T> sum, Size count) {
        T* const to = y + (i + r) * y_stride + j + at;
        store<T>(L<T>::load_first(to, count) + sum, to, count);
      });
    });
  });
}

template <class T>
constexpr TileProducts<T> products{panel_rows<T>, pack<T>, times_packed<T>, times<T>,
                                   add_transposed_times<T>};

}  // namespace

template <>
const TileProducts<float>& tile_products<float, this_isa>() {
  return products<float>;
}
template <>
const TileProducts<double>& tile_products<double, this_isa>() {
  return products<double>;
}

}  // namespace pencil::kernels
