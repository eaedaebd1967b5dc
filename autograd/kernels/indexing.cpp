#include "autograd/kernels/indexing.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "autograd/kernels/scratch.hpp"
#include "autograd/kernels/threads.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

constexpr Size piece_numbers = 32768;  // of one piece of parallel work, about

Size grain_for(Size numbers_each) {
  return std::max<Size>(1, piece_numbers / std::max<Size>(1, numbers_each));
}

template <class T>
void add(const T* x, Size n, T* y) {
  for (Size i = 0; i < n; ++i) y[i] += x[i];
}

/// The lowest position that any piece reports.
class First {
 public:
  void report(Size position) {
    Size seen = lowest_.load(std::memory_order_relaxed);
    while (position < seen && !lowest_.compare_exchange_weak(seen, position, std::memory_order_relaxed)) {
    }
  }
  Size get() const {
    const Size lowest = lowest_.load(std::memory_order_relaxed);
    return lowest == none ? -1 : lowest;
  }

 private:
  static constexpr Size none = std::numeric_limits<Size>::max();
  std::atomic<Size> lowest_{none};
};

// Rows are dealt out to groups eight at a time: in turn, because frequent words have small numbers, and
// several at once, so that the groups' threads do not write side by side in memory.
constexpr std::int32_t dealt = 8;

/// Positions sorted by the group of their id, in order within a group (a counting sort): those of group g are
/// order[begin[g]] … order[begin[g + 1] − 1].
void sort_by_group(const std::int32_t* ids, Size n, std::int32_t groups, Size* begin, Size* order) {
  std::fill_n(begin, groups + 1, Size{0});
  for (Size i = 0; i < n; ++i) ++begin[ids[i] / dealt % groups + 1];
  for (std::int32_t group = 0; group < groups; ++group) begin[group + 1] += begin[group];
  for (Size i = 0; i < n; ++i) order[begin[ids[i] / dealt % groups]++] = i;
  for (std::int32_t group = groups; group > 0; --group) begin[group] = begin[group - 1];
  begin[0] = 0;
}

}  // namespace

Size find_outside(const std::int32_t* ids, Size n, Size end) {
  constexpr Size step = 1024;
  for (Size begin = 0; begin < n; begin += step) {
    const Size stop = std::min(n, begin + step);
    bool outside = false;
    for (Size i = begin; i < stop; ++i) outside |= ids[i] < 0 || ids[i] >= end;
    if (!outside) continue;
    for (Size i = begin; i < stop; ++i)
      if (ids[i] < 0 || ids[i] >= end) return i;
  }
  return -1;
}

template <class T>
void gather_rows(const T* table, const std::int32_t* ids, Size n, Size width, T* y) {
  if (width == 0) return;
  parallel_for(n, grain_for(width), [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i)
      std::memcpy(y + i * width, table + ids[i] * width, static_cast<std::size_t>(width) * sizeof(T));
  });
}

template <class T>
void scatter_add_rows(const T* dy, const std::int32_t* ids, Size n, Size width, Size rows, T* dtable,
                      Size skip) {
  if (rows == 0 || width == 0) return;
  // Each group of rows belongs to one piece, which clears them and adds to them in order of position.
  const auto groups = static_cast<std::int32_t>(std::clamp<Size>(rows * width / piece_numbers, 1, 256));
  Scratch<Size> scratch(groups + 1 + n);
  Size* begin = scratch.data();
  Size* order = begin + groups + 1;
  sort_by_group(ids, n, groups, begin, order);
  parallel_for(groups, 1, [&](Size first, Size last) {
    for (Size group = first; group < last; ++group) {
      for (Size row = group * dealt; row < rows; row += groups * dealt)
        std::fill_n(dtable + row * width, std::min<Size>(dealt, rows - row) * width, T{0});
      for (Size at = begin[group]; at < begin[group + 1]; ++at) {
        const Size i = order[at];
        if (ids[i] != skip) add(dy + i * width, width, dtable + ids[i] * width);
      }
    }
  });
}

template <class T>
void take_along_axis(Size outer, Size axis, Size inner, Size taken, const T* x, const std::int32_t* ids,
                     T* y) {
  parallel_for(outer, grain_for(taken * inner), [&](Size begin, Size end) {
    for (Size o = begin; o < end; ++o)
      for (Size t = 0; t < taken; ++t)
        for (Size i = 0; i < inner; ++i) {
          const Size at = (o * taken + t) * inner + i;
          y[at] = x[(o * axis + ids[at]) * inner + i];
        }
  });
}

template <class T>
void take_along_axis_gradient(Size outer, Size axis, Size inner, Size taken, const T* dy,
                              const std::int32_t* ids, T* dx) {
  parallel_for(outer, grain_for(std::max(taken, axis) * inner), [&](Size begin, Size end) {
    std::fill(dx + begin * axis * inner, dx + end * axis * inner, T{0});
    for (Size o = begin; o < end; ++o)
      for (Size t = 0; t < taken; ++t)
        for (Size i = 0; i < inner; ++i) {
          const Size at = (o * taken + t) * inner + i;
          dx[(o * axis + ids[at]) * inner + i] += dy[at];
        }
  });
}

template <class T>
void one_hot(const std::int32_t* ids, Size n, Size classes, T* y) {
  parallel_for(n, grain_for(classes), [&](Size begin, Size end) {
    std::fill(y + begin * classes, y + end * classes, T{0});
    for (Size i = begin; i < end; ++i) y[i * classes + ids[i]] = T{1};
  });
}

template <class To, class From>
void cast(const From* x, Size n, To* y) {
  parallel_for(n, piece_numbers, [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i) y[i] = static_cast<To>(x[i]);
  });
}

template <class From>
Size cast_to_int(const From* x, Size n, std::int32_t* y) {
  First first;
  parallel_for(n, piece_numbers, [&](Size begin, Size end) {
    // −2^31 − 1 < x < 2^31: truncation brings the first's fraction inside, and both bounds are exact in
    // double.
    const auto fits = [](From number) {
      return double{number} > -2147483649.0 && double{number} < 2147483648.0;
    };
    bool all = true;
    for (Size i = begin; i < end; ++i) {
      const bool good = fits(x[i]);
      all &= good;
      y[i] = static_cast<std::int32_t>(good ? x[i] : From{0});
    }
    if (all) return;
    first.report(std::find_if_not(x + begin, x + end, fits) - x);
  });
  return first.get();
}

template <class T>
void masked_mean(Size batch, Size length, Size width, const T* x, const std::int32_t* mask, T* y) {
  parallel_for(batch, grain_for(length * width), [&](Size begin, Size end) {
    for (Size b = begin; b < end; ++b) {
      T* mean = y + b * width;
      std::fill_n(mean, width, T{0});
      Size count = 0;
      for (Size t = 0; t < length; ++t) {
        if (mask[b * length + t] == 0) continue;
        ++count;
        add(x + (b * length + t) * width, width, mean);
      }
      if (count == 0) continue;
      for (Size w = 0; w < width; ++w) mean[w] /= static_cast<T>(count);
    }
  });
}

template <class T>
void masked_mean_gradient(Size batch, Size length, Size width, const T* dy, const std::int32_t* mask, T* dx) {
  parallel_for(batch, grain_for(length * width), [&](Size begin, Size end) {
    for (Size b = begin; b < end; ++b) {
      const std::int32_t* row = mask + b * length;
      const auto count = static_cast<T>(length - std::count(row, row + length, 0));
      for (Size t = 0; t < length; ++t) {
        T* to = dx + (b * length + t) * width;
        if (row[t] == 0)
          std::fill_n(to, width, T{0});
        else
          for (Size w = 0; w < width; ++w) to[w] = dy[b * width + w] / count;
      }
    }
  });
}

#define PENCIL_INSTANTIATE(T)                                                                           \
  template void gather_rows<T>(const T*, const std::int32_t*, Size, Size, T*);                          \
  template void scatter_add_rows<T>(const T*, const std::int32_t*, Size, Size, Size, T*, Size);         \
  template void take_along_axis<T>(Size, Size, Size, Size, const T*, const std::int32_t*, T*);          \
  template void take_along_axis_gradient<T>(Size, Size, Size, Size, const T*, const std::int32_t*, T*); \
  template void one_hot<T>(const std::int32_t*, Size, Size, T*);
PENCIL_INSTANTIATE(float)
PENCIL_INSTANTIATE(double)
PENCIL_INSTANTIATE(std::int32_t)
#undef PENCIL_INSTANTIATE

#define PENCIL_INSTANTIATE(T)                                                        \
  template void cast<T>(const float*, Size, T*);                                     \
  template void cast<T>(const double*, Size, T*);                                    \
  template void cast<T>(const std::int32_t*, Size, T*);                              \
  template Size cast_to_int<T>(const T*, Size, std::int32_t*);                       \
  template void masked_mean<T>(Size, Size, Size, const T*, const std::int32_t*, T*); \
  template void masked_mean_gradient<T>(Size, Size, Size, const T*, const std::int32_t*, T*);
PENCIL_INSTANTIATE(float)
PENCIL_INSTANTIATE(double)
#undef PENCIL_INSTANTIATE

}  // namespace pencil::kernels
