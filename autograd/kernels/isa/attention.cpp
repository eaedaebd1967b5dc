#include "autograd/kernels/isa/attention.hpp"

#include <limits>

#include "autograd/kernels/isa/ends.hpp"
#include "autograd/kernels/isa/set.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

/// How many keys row `row` of a tile sees, mask aside.
Size reach(const Visible& visible, Size row, Size keys) {
  const Size n = visible.first + row * visible.step;
  return n < 0 ? 0 : n < keys ? n : keys;
}

/// One row of a tile, lane by lane: which of a lane's numbers are visible keys.
template <class T, class Arch>
struct Row {
  using L = Lane<T, Arch>;
  Size keys;  // from here on nothing is visible
  const std::int32_t* mask;
  Size stride;

  Row(const Visible& visible, Size row, Size all)
      : keys(reach(visible, row, all)),
        mask(visible.mask == nullptr ? nullptr : visible.mask + row * visible.row_stride),
        stride(visible.key_stride) {}

  /// a where lane i … i + size − 1 is visible, else `hidden`.
  L open(Size i, L a, T hidden) const {
    if (mask != nullptr) {
      alignas(64) T shown[L::size] = {};
      const Size n = keys - i < L::size ? keys - i : L::size;
      if (stride == 1)
        for (Size j = 0; j < n; ++j) shown[j] = mask[i + j] != 0 ? 1 : 0;
      else
        for (Size j = 0; j < n; ++j) shown[j] = mask[(i + j) * stride] != 0 ? 1 : 0;
      return select(L::load(shown) != L(0), a, L(hidden));
    }
    if (keys - i >= L::size) return a;
    return keep_first(a, keys - i, hidden);
  }
};

template <class T, class Arch>
void zeros(Size from, Size to, T* x) {
  for (; from < to; from += Lane<T, Arch>::size) Lane<T, Arch>(0).store(x + from);
}

template <class T, class Arch>
T largest_visible(const Row<T, Arch>& row, const T* scores) {
  using L = Lane<T, Arch>;
  L most(-infinity<T>);
  for (Size i = 0; i < row.keys; i += L::size)
    most = max(row.open(i, L::load(scores + i), -infinity<T>), most);
  return largest_of(most);
}

template <class T, class Arch>
void weights(Size rows, Size keys, Size pitch, const Visible& visible, T* scores, T* lse, T* factors) {
  using L = Lane<T, Arch>;
  // First the largest of every row, into lse: rows do not wait for each other.
  for (Size r = 0; r < rows; ++r)
    lse[r] = largest_visible(Row<T, Arch>(visible, r, keys), scores + r * pitch);
  T total[most_rows];  // of each row: Σ exp(score − largest)
  for (Size r = 0; r < rows; ++r, scores += pitch) {
    const Row<T, Arch> row(visible, r, keys);
    const T most = lse[r];
    total[r] = 1;
    if (most == -infinity<T>) {
      zeros<T, Arch>(0, keys, scores);
      continue;
    }
    L sum(0);
    Size i = 0;
    for (; i < row.keys; i += L::size) {
      const L e = row.open(i, exp_of_negative(L::load(scores + i) - most), 0);
      sum += e;
      e.store(scores + i);
    }
    zeros<T, Arch>(i, keys, scores);
    total[r] = reduce_add(sum);
  }
  for (Size r = 0; r < rows; r += L::size) {
    const Size n = rows - r;
    const L sum = keep_first(L::load_first(total + r, n), n, T{1});
    (L::load_first(lse + r, n) + log(sum)).store_first(lse + r, n);
    (1 / sum).store_first(factors + r, n);
  }
}

template <class T, class Arch>
T dot(Size n, const T* a, const T* b) {
  using L = Lane<T, Arch>;
  L sum(0);
  Size i = 0;
  for (; i + L::size <= n; i += L::size) sum = fma(L::load(a + i), L::load(b + i), sum);
  if (i < n) sum = fma(L::load_first(a + i, n - i), L::load_first(b + i, n - i), sum);
  return reduce_add(sum);
}

template <class T, class Arch>
void gradients(Size rows, Size keys, Size pitch, const Visible& visible, T scale, const T* lse, Size width,
               Size stride, const T* out, const T* dout, T* scores, T* dweights) {
  using L = Lane<T, Arch>;
  for (Size r = 0; r < rows; ++r, scores += pitch, dweights += pitch, out += stride, dout += stride) {
    if (lse[r] == -infinity<T>) {
      zeros<T, Arch>(0, keys, scores);
      zeros<T, Arch>(0, keys, dweights);
      continue;
    }
    const Row<T, Arch> row(visible, r, keys);
    const L shift = lse[r], mean = dot<T, Arch>(width, out, dout);
    Size i = 0;
    for (; i < row.keys; i += L::size) {
      const L w = row.open(i, exp_of_negative(L::load(scores + i) - shift), 0);
      const L d = w * (row.open(i, L::load(dweights + i), 0) - mean) * scale;
      w.store(scores + i);
      row.open(i, d, 0).store(dweights + i);
    }
    zeros<T, Arch>(i, keys, scores);
    zeros<T, Arch>(i, keys, dweights);
  }
}

template <class T, class Arch>
bool finite(Size rows, Size width, Size stride, const T* x) {
  using L = Lane<T, Arch>;
  L sum(0);  // of x − x: 0, or NaN
  for (Size row = 0; row < rows; ++row, x += stride) {
    Size i = 0;
    for (; i + L::size <= width; i += L::size) sum += L::load(x + i) - L::load(x + i);
    if (i < width) sum += L::load_first(x + i, width - i) - L::load_first(x + i, width - i);
  }
  return reduce_add(sum) == 0;
}

template <class T, class Arch>
constexpr AttentionTable<T> kernels_of{weights<T, Arch>, gradients<T, Arch>, finite<T, Arch>};

}  // namespace

template <>
const AttentionTable<float>& attention_table<float, this_isa>() {
  return kernels_of<float, this_arch>;
}
template <>
const AttentionTable<double>& attention_table<double, this_isa>() {
  return kernels_of<double, this_arch>;
}

}  // namespace pencil::kernels
