#include "autograd/kernels/isa/reduce.hpp"

#include <limits>

#include "autograd/kernels/isa/ends.hpp"
#include "autograd/kernels/isa/set.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

// Each way has a form for lanes and one for plain numbers.
struct Sum {
  template <class T>
  static constexpr T start = 0;
  template <class N>
  static N join(N a, N b) {
    return a + b;
  }
};
struct Largest {
  template <class T>
  static constexpr T start = -std::numeric_limits<T>::infinity();
  template <class T, class Arch>
  static Lane<T, Arch> join(Lane<T, Arch> a, Lane<T, Arch> b) {
    return max(a, b);
  }
  template <class T>
  static T join(T a, T b) {
    return a != a || a > b ? a : b;
  }
};
struct Smallest {
  template <class T>
  static constexpr T start = std::numeric_limits<T>::infinity();
  template <class T, class Arch>
  static Lane<T, Arch> join(Lane<T, Arch> a, Lane<T, Arch> b) {
    return min(a, b);
  }
  template <class T>
  static T join(T a, T b) {
    return a != a || a < b ? a : b;
  }
};

/// The numbers of one lane joined in halves.
template <class How, class L>
typename L::Element fold(L a) {
  alignas(64) typename L::Element numbers[L::size];
  a.store(numbers);
  for (Size half = L::size / 2; half > 0; half /= 2)
    for (Size i = 0; i < half; ++i) numbers[i] = How::join(numbers[i], numbers[i + half]);
  return numbers[0];
}

template <class How, class T, class Arch>
void fold_rows(Size rows, Size width, const T* x, T* y) {
  using L = Lane<T, Arch>;
  for (Size row = 0; row < rows; ++row, x += width) {
    if (width <= L::size / 2) {
      T joined = How::template start<T>;
      for (Size i = 0; i < width; ++i) joined = How::join(joined, x[i]);
      y[row] = joined;
      continue;
    }
    L a = How::template start<T>, b = a, c = a, d = a;
    Size i = 0;
    for (; i + 4 * L::size <= width; i += 4 * L::size) {
      a = How::join(a, L::load(x + i));
      b = How::join(b, L::load(x + i + L::size));
      c = How::join(c, L::load(x + i + 2 * L::size));
      d = How::join(d, L::load(x + i + 3 * L::size));
    }
    for (; i + L::size <= width; i += L::size) a = How::join(a, L::load(x + i));
    if (i < width)
      b = How::join(b, keep_first(L::load_first(x + i, width - i), width - i, How::template start<T>));
    y[row] = fold<How>(How::join(How::join(a, b), How::join(c, d)));
  }
}

template <class How, class T, class Arch>
void fold_columns(Size rows, Size width, Size stride, const T* x, T* y) {
  using L = Lane<T, Arch>;
  const T* end = x + (rows - 1) * stride + width;
  Size j = 0;
  for (; j + 4 * L::size <= width; j += 4 * L::size) {
    L a = How::template start<T>, b = a, c = a, d = a;
    const T* p = x + j;
    for (Size row = 0; row < rows; ++row, p += stride) {
      a = How::join(a, L::load(p));
      b = How::join(b, L::load(p + L::size));
      c = How::join(c, L::load(p + 2 * L::size));
      d = How::join(d, L::load(p + 3 * L::size));
    }
    a.store(y + j);
    b.store(y + j + L::size);
    c.store(y + j + 2 * L::size);
    d.store(y + j + 3 * L::size);
  }
  for (; j < width; j += L::size) {
    // The last columns share a lane with what follows them in memory, which is not stored; the last row has
    // nothing after it.
    const Size columns = width - j < L::size ? width - j : L::size;
    L a = How::template start<T>;
    const T* p = x + j;
    for (Size row = 0; row < rows; ++row, p += stride)
      a = How::join(a, end - p >= L::size ? L::load(p) : L::load_first(p, columns));
    a.store_first(y + j, columns);
  }
}

template <class T, class Arch>
constexpr FoldTable<T> folds{{fold_rows<Sum, T, Arch>, fold_columns<Sum, T, Arch>},
                             {fold_rows<Largest, T, Arch>, fold_columns<Largest, T, Arch>},
                             {fold_rows<Smallest, T, Arch>, fold_columns<Smallest, T, Arch>}};

}  // namespace

template <>
const FoldTable<float>& fold_table<float, this_isa>() {
  return folds<float, this_arch>;
}
template <>
const FoldTable<double>& fold_table<double, this_isa>() {
  return folds<double, this_arch>;
}

}  // namespace pencil::kernels
