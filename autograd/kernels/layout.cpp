#include "autograd/kernels/layout.hpp"

#include <algorithm>
#include <cstring>

#include "autograd/kernels/threads.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

constexpr Size piece_numbers = 32768;  // of one piece of parallel work, about

Size grain_for(Size numbers_each) {
  return std::max<Size>(1, piece_numbers / std::max<Size>(1, numbers_each));
}

/// Drops axes of size 1 and joins axes that are walked like one.
Strided joined(const Strided& walk) {
  Strided out;
  for (int axis = 0; axis < walk.rank; ++axis) {
    if (walk.size[axis] == 1) continue;
    const int last = out.rank - 1;
    if (last >= 0 && out.stride[last] == walk.stride[axis] * walk.size[axis]) {
      out.size[last] *= walk.size[axis];
      out.stride[last] = walk.stride[axis];
    } else {
      out.size[out.rank] = walk.size[axis];
      out.stride[out.rank] = walk.stride[axis];
      ++out.rank;
    }
  }
  return out;
}

/// Some axes of a walk as one count, for loops that do the other axes themselves.
struct Outer {
  int rank = 0;
  Size count = 1;
  Size size[Strided::most] = {};
  Size strided[Strided::most] = {};  // step in the strided array
  Size dense[Strided::most] = {};    // step in the contiguous one

  void add(Size axis_size, Size strided_step, Size dense_step) {
    size[rank] = axis_size;
    strided[rank] = strided_step;
    dense[rank] = dense_step;
    count *= axis_size;
    ++rank;
  }
  /// Where item number `item` begins in both arrays.
  void find(Size item, Size& strided_at, Size& dense_at) const {
    strided_at = dense_at = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      const Size index = item % size[axis];
      item /= size[axis];
      strided_at += index * strided[axis];
      dense_at += index * dense[axis];
    }
  }
};

/// The innermost axis is walked in steps of 1, 0 or anything.
template <bool writes, class T>
void copy_row(Size n, Size stride, const T* x, T* y) {
  if (stride == 1) {
    std::memcpy(y, x, static_cast<std::size_t>(n) * sizeof(T));
  } else if constexpr (writes) {
    for (Size i = 0; i < n; ++i) y[i * stride] = x[i];
  } else if (stride == 0) {
    std::fill_n(y, n, *x);
  } else {
    for (Size i = 0; i < n; ++i) y[i] = x[i * stride];
  }
}

constexpr Size tile = 16;

/// rows × columns numbers between a strided array (rows 1 apart, columns `stride` apart) and a contiguous one
/// (rows `pitch` apart, columns 1 apart), in square tiles so that both sides stay in cache.
template <bool writes, class T>
void transpose(Size rows, Size columns, Size stride, Size pitch, const T* x, T* y) {
  for (Size j0 = 0; j0 < columns; j0 += tile) {
    const Size j1 = std::min(columns, j0 + tile);
    for (Size i = 0; i < rows; ++i)
      for (Size j = j0; j < j1; ++j)
        if constexpr (writes)
          y[i + j * stride] = x[i * pitch + j];
        else
          y[i * pitch + j] = x[i + j * stride];
  }
}

/// Copies between the array that `walk` walks and a contiguous one; `writes` says that the walk is through y.
template <bool writes, class T>
void copy(const Strided& given, const T* x, T* y) {
  for (int axis = 0; axis < given.rank; ++axis)
    if (given.size[axis] == 0) return;
  const Strided walk = joined(given);
  if (walk.rank == 0) {
    *y = *x;
    return;
  }
  const int last = walk.rank - 1;
  const Size n = walk.size[last], stride = walk.stride[last];
  if (walk.rank == 1)
    return parallel_for(n, piece_numbers, [&](Size begin, Size end) {
      copy_row<writes>(end - begin, stride, x + begin * (writes ? 1 : stride),
                       y + begin * (writes ? stride : 1));
    });

  Size dense[Strided::most];
  dense[last] = 1;
  for (int axis = last - 1; axis >= 0; --axis) dense[axis] = dense[axis + 1] * walk.size[axis + 1];
  int unit = last;  // an axis that is contiguous in the strided array
  if (stride != 1 && stride != 0)
    for (int axis = 0; axis < last; ++axis)
      if (walk.stride[axis] == 1) unit = axis;

  Outer outer;
  for (int axis = 0; axis < last; ++axis)
    if (axis != unit) outer.add(walk.size[axis], walk.stride[axis], dense[axis]);

  if (unit == last)
    return parallel_for(outer.count, grain_for(n), [&](Size begin, Size end) {
      for (Size item = begin; item < end; ++item) {
        Size strided_at = 0, dense_at = 0;
        outer.find(item, strided_at, dense_at);
        copy_row<writes>(n, stride, x + (writes ? dense_at : strided_at),
                         y + (writes ? strided_at : dense_at));
      }
    });

  const Size bands = (walk.size[unit] + tile - 1) / tile;
  parallel_for(outer.count * bands, grain_for(n * tile), [&](Size begin, Size end) {
    for (Size item = begin; item < end; ++item) {
      Size strided_at = 0, dense_at = 0;
      outer.find(item / bands, strided_at, dense_at);
      const Size row = item % bands * tile;
      strided_at += row;
      dense_at += row * dense[unit];
      transpose<writes>(std::min(tile, walk.size[unit] - row), n, stride, dense[unit],
                        x + (writes ? dense_at : strided_at), y + (writes ? strided_at : dense_at));
    }
  });
}

void contiguous_strides(int rank, const Size* size, Size* stride) {
  Size step = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    stride[axis] = step;
    step *= size[axis];
  }
}

/// The walk of a slice, and where it begins.
Strided sliced(int rank, const Size* size, const Range* ranges, Size& offset) {
  Strided walk;
  walk.rank = rank;
  Size stride[Strided::most];
  contiguous_strides(rank, size, stride);
  offset = 0;
  for (int axis = 0; axis < rank; ++axis) {
    walk.size[axis] = ranges[axis].count;
    walk.stride[axis] = ranges[axis].step * stride[axis];
    offset += ranges[axis].start * stride[axis];
  }
  return walk;
}

template <class T, class Move>
void for_parts(Size outer, int count, const Size* widths, const Move& move) {
  Size total = 0;
  for (int part = 0; part < count; ++part) total += widths[part];
  parallel_for(outer, grain_for(total), [&](Size begin, Size end) {
    Size at = 0;
    for (int part = 0; part < count; ++part) {
      for (Size row = begin; row < end; ++row)
        move(part, row * widths[part], row * total + at, static_cast<std::size_t>(widths[part]) * sizeof(T));
      at += widths[part];
    }
  });
}

}  // namespace

template <class T>
void read_strided(const Strided& from, const T* x, T* y) {
  copy<false>(from, x, y);
}

template <class T>
void write_strided(const Strided& to, const T* x, T* y) {
  copy<true>(to, x, y);
}

template <class T>
void permute(int rank, const Size* size, const int* axes, const T* x, T* y) {
  Size stride[Strided::most];
  contiguous_strides(rank, size, stride);
  Strided walk;
  walk.rank = rank;
  for (int axis = 0; axis < rank; ++axis) {
    walk.size[axis] = size[axes[axis]];
    walk.stride[axis] = stride[axes[axis]];
  }
  read_strided(walk, x, y);
}

template <class T>
void broadcast_to(int rank, const Size* from, const Size* size, const T* x, T* y) {
  Strided walk;
  walk.rank = rank;
  contiguous_strides(rank, from, walk.stride);
  for (int axis = 0; axis < rank; ++axis) {
    walk.size[axis] = size[axis];
    if (from[axis] == 1) walk.stride[axis] = 0;
  }
  read_strided(walk, x, y);
}

template <class T>
void slice(int rank, const Size* size, const Range* ranges, const T* x, T* y) {
  Size offset = 0;
  const Strided walk = sliced(rank, size, ranges, offset);
  read_strided(walk, x + offset, y);
}

template <class T>
void slice_gradient(int rank, const Size* size, const Range* ranges, const T* dy, T* dx) {
  Size numbers = 1;
  for (int axis = 0; axis < rank; ++axis) numbers *= size[axis];
  if (numbers == 0) return;
  parallel_for(numbers, piece_numbers, [&](Size begin, Size end) { std::fill(dx + begin, dx + end, T{0}); });
  Size offset = 0;
  const Strided walk = sliced(rank, size, ranges, offset);
  write_strided(walk, dy, dx + offset);
}

template <class T>
void concat(Size outer, int count, const T* const* parts, const Size* widths, T* y) {
  for_parts<T>(outer, count, widths, [&](int part, Size part_at, Size whole_at, std::size_t bytes) {
    if (bytes > 0) std::memcpy(y + whole_at, parts[part] + part_at, bytes);
  });
}

template <class T>
void split(Size outer, int count, const T* x, const Size* widths, T* const* parts) {
  for_parts<T>(outer, count, widths, [&](int part, Size part_at, Size whole_at, std::size_t bytes) {
    if (bytes > 0 && parts[part]) std::memcpy(parts[part] + part_at, x + whole_at, bytes);
  });
}

#define PENCIL_INSTANTIATE(T)                                                    \
  template void read_strided<T>(const Strided&, const T*, T*);                   \
  template void write_strided<T>(const Strided&, const T*, T*);                  \
  template void permute<T>(int, const Size*, const int*, const T*, T*);          \
  template void broadcast_to<T>(int, const Size*, const Size*, const T*, T*);    \
  template void slice<T>(int, const Size*, const Range*, const T*, T*);          \
  template void slice_gradient<T>(int, const Size*, const Range*, const T*, T*); \
  template void concat<T>(Size, int, const T* const*, const Size*, T*);          \
  template void split<T>(Size, int, const T*, const Size*, T* const*);
PENCIL_INSTANTIATE(float)
PENCIL_INSTANTIATE(double)
PENCIL_INSTANTIATE(std::int32_t)
#undef PENCIL_INSTANTIATE

}  // namespace pencil::kernels
