#include "autograd/kernels/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "autograd/kernels/isa/reduce.hpp"
#include "autograd/kernels/scratch.hpp"
#include "autograd/kernels/threads.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

constexpr Size piece_numbers = 32768;  // of one piece of parallel work, about
constexpr Size row_block = 1024;       // numbers of a row joined at once
constexpr Size column_block = 64;      // rows joined at once
constexpr Size column_tile = 1024;     // columns of one piece of work

Size pieces(Size size, Size piece) { return (size + piece - 1) / piece; }
Size grain_for(Size numbers_each) {
  return std::max<Size>(1, piece_numbers / std::max<Size>(1, numbers_each));
}

template <class T>
const FoldTable<T>& folds() {
  static const FoldTable<T>& table =
      choose([]<Isa set>() -> const FoldTable<T>& { return fold_table<T, set>(); });
  return table;
}

/// Rows of at most row_block numbers at once, longer ones block by block and then the blocks.
template <class T>
void fold_rows(const Fold<T>& fold, Size outer, Size axis, const T* x, T* y) {
  if (axis <= row_block)
    return parallel_for(outer, grain_for(axis), [&](Size begin, Size end) {
      fold.rows(end - begin, axis, x + begin * axis, y + begin);
    });
  const Size blocks = pieces(axis, row_block);
  Scratch<T> scratch(outer * blocks);
  T* parts = scratch.data();
  parallel_for(outer * blocks, grain_for(row_block), [&](Size begin, Size end) {
    for (Size item = begin; item < end; ++item) {
      const Size at = item % blocks * row_block;
      fold.rows(1, std::min(row_block, axis - at), x + item / blocks * axis + at, parts + item);
    }
  });
  fold_rows<T>(fold, outer, blocks, parts, y);
}

/// y (outer, inner) from x, whose outer parts are `pitch` numbers apart.
template <class T>
void fold_columns(const Fold<T>& fold, Size outer, Size axis, Size inner, Size pitch, const T* x, T* y) {
  const Size blocks = axis <= 2 * column_block ? 1 : pieces(axis, column_block);
  const Size block = blocks == 1 ? axis : column_block;
  const Size tiles = pieces(inner, column_tile);
  std::optional<Scratch<T>> scratch;
  if (blocks > 1) scratch.emplace(outer * blocks * inner);
  T* to = blocks > 1 ? scratch->data() : y;
  parallel_for(
      outer * blocks * tiles, grain_for(block * std::min(inner, column_tile)), [&](Size begin, Size end) {
        for (Size item = begin; item < end; ++item) {
          const Size part = item / tiles, column = item % tiles * column_tile, row = part % blocks * block;
          fold.columns(std::min(block, axis - row), std::min(column_tile, inner - column), inner,
                       x + part / blocks * pitch + row * inner + column, to + part * inner + column);
        }
      });
  if (blocks > 1) fold_columns<T>(fold, outer, blocks, inner, blocks * inner, to, y);
}

template <class T>
void fold_axis(const Fold<T>& fold, Size outer, Size axis, Size inner, const T* x, T* y) {
  if (outer == 0 || inner == 0) return;
  if (inner == 1) return fold_rows(fold, outer, axis, x, y);
  const Size together = 64 / inner;
  if (together < 2 || axis < 4 * together) return fold_columns(fold, outer, axis, inner, axis * inner, x, y);
  // Few columns do not fill a lane: take some rows together as one, and join what comes out with the rows
  // left over.
  const Size groups = axis / together, rest = axis % together, left = together + rest;
  Scratch<T> scratch(outer * left * inner);
  T* parts = scratch.data();
  if (rest == 0) {
    fold_columns(fold, outer, groups, together * inner, axis * inner, x, parts);
  } else {
    for (Size o = 0; o < outer; ++o) {
      const T* from = x + o * axis * inner;
      T* to = parts + o * left * inner;
      fold_columns(fold, 1, groups, together * inner, axis * inner, from, to);
      std::copy_n(from + groups * together * inner, rest * inner, to + together * inner);
    }
  }
  fold_columns<T>(fold, outer, left, inner, left * inner, parts, y);
}

template <class T>
bool same(T a, T b) {
  return a == b || (a != a && b != b);
}

/// Keeps the first of the best; `better` never holds for NaN.
template <class T, class Better>
void arg_axis(Size outer, Size axis, Size inner, const T* x, std::int32_t* y, const Better& better) {
  parallel_for(outer, grain_for(axis * inner), [&](Size begin, Size end) {
    for (Size o = begin; o < end; ++o) {
      const T* from = x + o * axis * inner;
      std::int32_t* to = y + o * inner;
      std::fill_n(to, inner, 0);
      for (Size a = 1; a < axis; ++a)
        for (Size i = 0; i < inner; ++i) {
          const T best = from[to[i] * inner + i], now = from[a * inner + i];
          if (best == best && (now != now || better(now, best))) to[i] = static_cast<std::int32_t>(a);
        }
    }
  });
}

}  // namespace

template <class T>
void reduce_sum(Size outer, Size axis, Size inner, const T* x, T* y) {
  if (axis == 0)
    std::fill_n(y, outer * inner, T{0});
  else
    fold_axis(folds<T>().sum, outer, axis, inner, x, y);
}

template <class T>
void reduce_mean(Size outer, Size axis, Size inner, const T* x, T* y) {
  reduce_sum(outer, axis, inner, x, y);
  if (axis > 1)
    parallel_for(outer * inner, piece_numbers, [&](Size begin, Size end) {
      for (Size i = begin; i < end; ++i) y[i] /= static_cast<T>(axis);
    });
}

template <class T>
void reduce_max(Size outer, Size axis, Size inner, const T* x, T* y) {
  fold_axis(folds<T>().largest, outer, axis, inner, x, y);
}

template <class T>
void reduce_min(Size outer, Size axis, Size inner, const T* x, T* y) {
  fold_axis(folds<T>().smallest, outer, axis, inner, x, y);
}

template <class T>
void equal_shares(Size outer, Size axis, Size inner, const T* x, const T* y, T* share) {
  parallel_for(outer, grain_for(axis * inner), [&](Size begin, Size end) {
    for (Size o = begin; o < end; ++o)
      for (Size i = 0; i < inner; ++i) {
        const T* from = x + o * axis * inner + i;
        T* to = share + o * axis * inner + i;
        const T extreme = y[o * inner + i];
        Size count = 0;
        for (Size a = 0; a < axis; ++a) count += same(from[a * inner], extreme);
        const T part = T{1} / static_cast<T>(count);
        for (Size a = 0; a < axis; ++a) to[a * inner] = same(from[a * inner], extreme) ? part : T{0};
      }
  });
}

template <class T>
void argmax(Size outer, Size axis, Size inner, const T* x, std::int32_t* y) {
  arg_axis(outer, axis, inner, x, y, [](T a, T b) { return a > b; });
}

template <class T>
void argmin(Size outer, Size axis, Size inner, const T* x, std::int32_t* y) {
  arg_axis(outer, axis, inner, x, y, [](T a, T b) { return a < b; });
}

template <class T>
void cumulative_sum(Size outer, Size axis, Size inner, bool reverse, const T* x, T* y) {
  if (axis == 0) return;
  const Size first = reverse ? axis - 1 : 0, step = reverse ? -inner : inner;
  parallel_for(outer, grain_for(axis * inner), [&](Size begin, Size end) {
    for (Size o = begin; o < end; ++o) {
      const T* from = x + (o * axis + first) * inner;
      T* to = y + (o * axis + first) * inner;
      std::copy_n(from, inner, to);
      for (Size a = 1; a < axis; ++a) {
        from += step;
        to += step;
        for (Size i = 0; i < inner; ++i) to[i] = to[i - step] + from[i];
      }
    }
  });
}

template <class T>
void sum_to(int rank, const Size* from, const Size* to, const T* x, T* y) {
  // Neighbouring axes that are kept, or summed, count as one.
  struct Group {
    bool summed;
    Size size;
  } groups[8];
  int count = 0;
  Size numbers = 1;
  for (int axis = 0; axis < rank; ++axis) {
    numbers *= to[axis];
    if (from[axis] == 1) continue;
    const bool summed = to[axis] == 1;
    if (count > 0 && groups[count - 1].summed == summed)
      groups[count - 1].size *= from[axis];
    else
      groups[count++] = {summed, from[axis]};
  }
  if (numbers == 0) return;
  int left = static_cast<int>(std::count_if(groups, groups + count, [](const Group& g) { return g.summed; }));
  if (left == 0) {
    std::memcpy(y, x, static_cast<std::size_t>(numbers) * sizeof(T));
    return;
  }
  // The last summed group first: each sum reads what the one before it wrote, and the last writes y.
  std::optional<Scratch<T>> parts[2];
  Size inner = 1;
  for (int group = count - 1; left > 0; --group) {
    if (!groups[group].summed) {
      inner *= groups[group].size;
      continue;
    }
    Size outer = 1;
    for (int before = 0; before < group; ++before) outer *= groups[before].size;
    std::optional<Scratch<T>>& part = parts[left % 2];
    if (--left > 0) part.emplace(outer * inner);
    T* sums = left > 0 ? part->data() : y;
    reduce_sum(outer, groups[group].size, inner, x, sums);
    x = sums;
  }
}

#define PENCIL_INSTANTIATE(T)                                              \
  template void reduce_sum<T>(Size, Size, Size, const T*, T*);             \
  template void reduce_mean<T>(Size, Size, Size, const T*, T*);            \
  template void reduce_max<T>(Size, Size, Size, const T*, T*);             \
  template void reduce_min<T>(Size, Size, Size, const T*, T*);             \
  template void equal_shares<T>(Size, Size, Size, const T*, const T*, T*); \
  template void argmax<T>(Size, Size, Size, const T*, std::int32_t*);      \
  template void argmin<T>(Size, Size, Size, const T*, std::int32_t*);      \
  template void cumulative_sum<T>(Size, Size, Size, bool, const T*, T*);   \
  template void sum_to<T>(int, const Size*, const Size*, const T*, T*);
PENCIL_INSTANTIATE(float)
PENCIL_INSTANTIATE(double)
#undef PENCIL_INSTANTIATE

}  // namespace pencil::kernels
