#include "autograd/kernels/isa/rows.hpp"

#include <limits>

#include "autograd/kernels/isa/ends.hpp"
#include "autograd/kernels/isa/set.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

/// Calls f(i, n) for the lanes of a row: numbers i … i + n − 1, n = the lane's size but for the last.
template <class L, class F>
void each_lane(Size width, const F& f) {
  Size i = 0;
  for (; i + L::size <= width; i += L::size) f(i, L::size);
  if (i < width) f(i, width - i);
}

template <class L, class T>
L load(const T* p, Size n, T rest = 0) {
  return n == L::size ? L::load(p) : keep_first(L::load_first(p, n), n, rest);
}

template <class L, class T>
void store(L a, T* p, Size n) {
  if (n == L::size)
    a.store(p);
  else
    a.store_first(p, n);
}

/// 1 where a mask lets through, else 0.
template <class L>
L load_mask(const std::int32_t* p, Size n) {
  typename L::Element open[L::size] = {};
  for (Size i = 0; i < n; ++i) open[i] = p[i] != 0 ? 1 : 0;
  return L::load(open);
}

/// x where the mask lets through (everywhere without a mask), else −∞.
template <class L, class T>
L load_open(const T* x, const std::int32_t* mask, Size i, Size n) {
  const L a = load<L>(x + i, n, -infinity<T>);
  return mask == nullptr ? a : select(load_mask<L>(mask + i, n) != L(0), a, L(-infinity<T>));
}

/// One of the equal numbers of a lane.
template <class L>
typename L::Element number(L a) {
  alignas(64) typename L::Element numbers[L::size];
  a.store(numbers);
  return numbers[0];
}

template <class L, class T>
T largest(const T* x, const std::int32_t* mask, Size width) {
  L most(-infinity<T>);
  each_lane<L>(width, [&](Size i, Size n) { most = max(load_open<L>(x, mask, i, n), most); });
  return largest_of(most);
}

template <class L, class T>
T sum_of_exp(const T* x, T shift, Size width) {
  L sum(0);
  each_lane<L>(width, [&](Size i, Size n) { sum += exp(load<L>(x + i, n, -infinity<T>) - L(shift)); });
  return reduce_add(sum);
}

template <class T, class Arch>
void softmax(Size rows, Size width, const std::int32_t* mask, const T* x, T* y) {
  using L = Lane<T, Arch>;
  for (Size row = 0; row < rows; ++row, x += width, y += width) {
    const T most = largest<L>(x, mask, width);
    if (mask != nullptr && most == -infinity<T>) {
      each_lane<L>(width, [&](Size i, Size n) { store(L(0), y + i, n); });
    } else {
      L sum(0);
      each_lane<L>(width, [&](Size i, Size n) {
        const L e = exp(load_open<L>(x, mask, i, n) - L(most));
        sum += e;
        store(e, y + i, n);
      });
      const L part = T{1} / reduce_add(sum);
      each_lane<L>(width, [&](Size i, Size n) {
        const L share = load<L>(y + i, n) * part;  // NaN all over the row where one number that counts is NaN
        store(mask == nullptr ? share : select(load_mask<L>(mask + i, n) != L(0), share, L(0)), y + i, n);
      });
    }
    if (mask != nullptr) mask += width;
  }
}

template <class T, class Arch>
void softmax_gradient(Size rows, Size width, const std::int32_t* mask, const T* y, const T* dy, T* dx) {
  using L = Lane<T, Arch>;
  for (Size row = 0; row < rows; ++row, y += width, dy += width, dx += width) {
    // What comes back to a masked place counts as 0, be it infinite or NaN.
    const auto upstream = [&](Size i, Size n) {
      const L d = load<L>(dy + i, n);
      return mask == nullptr ? d : select(load_mask<L>(mask + i, n) != L(0), d, L(0));
    };
    L dot(0);
    each_lane<L>(width, [&](Size i, Size n) { dot = fma(load<L>(y + i, n), upstream(i, n), dot); });
    const L mean = reduce_add(dot);
    each_lane<L>(width, [&](Size i, Size n) {
      const L d = load<L>(y + i, n) * (upstream(i, n) - mean);
      store(mask == nullptr ? d : select(load_mask<L>(mask + i, n) != L(0), d, L(0)), dx + i, n);
    });
    if (mask != nullptr) mask += width;
  }
}

template <class T, class Arch>
void log_softmax(Size rows, Size width, const T* x, T* y) {
  using L = Lane<T, Arch>;
  for (Size row = 0; row < rows; ++row, x += width, y += width) {
    const T most = largest<L, T>(x, nullptr, width);
    const L shift = most, rest = log(L(sum_of_exp<L>(x, most, width)));
    each_lane<L>(width, [&](Size i, Size n) { store(load<L>(x + i, n) - shift - rest, y + i, n); });
  }
}

template <class T, class Arch>
void log_softmax_gradient(Size rows, Size width, const T* y, const T* dy, T* dx) {
  using L = Lane<T, Arch>;
  for (Size row = 0; row < rows; ++row, y += width, dy += width, dx += width) {
    L sum(0);
    each_lane<L>(width, [&](Size i, Size n) { sum += load<L>(dy + i, n); });
    const L total = reduce_add(sum);
    each_lane<L>(width, [&](Size i, Size n) {
      store(load<L>(dy + i, n) - exp(load<L>(y + i, n)) * total, dx + i, n);
    });
  }
}

template <class T, class Arch>
void logsumexp(Size rows, Size width, const T* x, T* y) {
  using L = Lane<T, Arch>;
  for (Size row = 0; row < rows; ++row, x += width) {
    const T most = largest<L, T>(x, nullptr, width);
    const bool infinite = most == infinity<T> || most == -infinity<T>;
    y[row] = infinite ? most : most + number(log(L(sum_of_exp<L>(x, most, width))));
  }
}

template <class T, class Arch>
void logsumexp_gradient(Size rows, Size width, const T* x, const T* y, const T* dy, T* dx) {
  using L = Lane<T, Arch>;
  for (Size row = 0; row < rows; ++row, x += width, dx += width)
    each_lane<L>(width,
                 [&](Size i, Size n) { store(exp(load<L>(x + i, n) - L(y[row])) * L(dy[row]), dx + i, n); });
}

template <class T, class Arch>
void layer_norm(Size rows, Size width, T epsilon, const T* x, const T* weight, const T* bias, T* y, T* mean,
                T* rstd) {
  using L = Lane<T, Arch>;
  const T numbers = static_cast<T>(width);
  for (Size row = 0; row < rows; ++row, x += width, y += width) {
    L sum(0);
    each_lane<L>(width, [&](Size i, Size n) { sum += load<L>(x + i, n); });
    const T m = reduce_add(sum) / numbers;
    L squares(0);
    each_lane<L>(width, [&](Size i, Size n) {
      const L d = load<L>(x + i, n, m) - L(m);
      squares = fma(d, d, squares);
    });
    const L r = T{1} / sqrt(L(reduce_add(squares) / numbers + epsilon));
    each_lane<L>(width, [&](Size i, Size n) {
      L a = (load<L>(x + i, n) - L(m)) * r;
      if (weight != nullptr) a *= load<L>(weight + i, n);
      if (bias != nullptr) a += load<L>(bias + i, n);
      store(a, y + i, n);
    });
    mean[row] = m;
    rstd[row] = number(r);
  }
}

// With x̂ = (x − mean) rstd and g = dy weight:  dx = rstd (g − mean(g) − x̂ mean(g x̂))
template <class T, class Arch>
void layer_norm_gradient(Size rows, Size width, const T* x, const T* mean, const T* rstd, const T* weight,
                         const T* dy, T* dx) {
  using L = Lane<T, Arch>;
  const T numbers = static_cast<T>(width);
  for (Size row = 0; row < rows; ++row, x += width, dy += width, dx += width) {
    const L m = mean[row], r = rstd[row];
    const auto normal = [&](Size i, Size n) { return (load<L>(x + i, n) - m) * r; };
    const auto upstream = [&](Size i, Size n) {
      const L d = load<L>(dy + i, n);
      return weight == nullptr ? d : d * load<L>(weight + i, n);
    };
    L g_sum(0), gx_sum(0);
    each_lane<L>(width, [&](Size i, Size n) {
      const L g = upstream(i, n);
      g_sum += g;
      gx_sum = fma(g, normal(i, n), gx_sum);
    });
    const L g_mean = reduce_add(g_sum) / numbers, gx_mean = reduce_add(gx_sum) / numbers;
    each_lane<L>(width, [&](Size i, Size n) {
      store(r * (upstream(i, n) - g_mean - normal(i, n) * gx_mean), dx + i, n);
    });
  }
}

template <class T, class Arch>
void layer_norm_sums(Size rows, Size width, const T* x, const T* mean, const T* rstd, const T* dy, T* dweight,
                     T* dbias) {
  using L = Lane<T, Arch>;
  each_lane<L>(width, [&](Size i, Size n) {
    L w(0), b(0);
    for (Size row = 0; row < rows; ++row) {
      const L d = load<L>(dy + row * width + i, n);
      b += d;
      w = fma(d, (load<L>(x + row * width + i, n) - L(mean[row])) * L(rstd[row]), w);
    }
    store(w, dweight + i, n);
    store(b, dbias + i, n);
  });
}

template <class T, class Arch>
constexpr RowTable<T> kernels_of{
    softmax<T, Arch>,        softmax_gradient<T, Arch>,   log_softmax<T, Arch>, log_softmax_gradient<T, Arch>,
    logsumexp<T, Arch>,      logsumexp_gradient<T, Arch>, layer_norm<T, Arch>,  layer_norm_gradient<T, Arch>,
    layer_norm_sums<T, Arch>};

}  // namespace

template <>
const RowTable<float>& row_table<float, this_isa>() {
  return kernels_of<float, this_arch>;
}
template <>
const RowTable<double>& row_table<double, this_isa>() {
  return kernels_of<double, this_arch>;
}

}  // namespace pencil::kernels
