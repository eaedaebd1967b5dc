#include "autograd/kernels/select.hpp"

#include <cmath>

#include "autograd/kernels/threads.hpp"
#include "autograd/random.hpp"

namespace pencil::kernels {
namespace {

constexpr std::int64_t grain = 32768;

template <class T, class F>
void compare_by(std::int64_t n, const T* a, const T* b, std::int32_t* y, F holds) {
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = holds(a[i], b[i]);
  });
}

}  // namespace

template <class T>
void compare(Comparison comparison, std::int64_t n, const T* a, const T* b, std::int32_t* y) {
  switch (comparison) {
    case Comparison::equal:
      return compare_by(n, a, b, y, [](T x, T z) { return x == z; });
    case Comparison::not_equal:
      return compare_by(n, a, b, y, [](T x, T z) { return x != z; });
    case Comparison::less:
      return compare_by(n, a, b, y, [](T x, T z) { return x < z; });
    case Comparison::less_equal:
      return compare_by(n, a, b, y, [](T x, T z) { return x <= z; });
    case Comparison::greater:
      return compare_by(n, a, b, y, [](T x, T z) { return x > z; });
    case Comparison::greater_equal:
      return compare_by(n, a, b, y, [](T x, T z) { return x >= z; });
  }
}

template <class T>
void select(std::int64_t n, const std::int32_t* condition, const T* a, const T* b, T* y) {
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = condition[i] != 0 ? a[i] : b[i];
  });
}

template <class T>
void masked_fill(std::int64_t n, const T* x, const std::int32_t* mask, T value, T* y) {
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) y[i] = mask[i] != 0 ? value : x[i];
  });
}

template <class T>
void dropout(std::int64_t n, double rate, std::uint64_t key, const T* x, T* y) {
  // unit(bits) ≥ rate, asked of the 53 bits themselves
  const auto least = static_cast<std::uint64_t>(std::ceil(rate * 0x1p53));
  const T scale = rate < 1 ? static_cast<T>(1 / (1 - rate)) : T{0};
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const bool kept = mix(key + static_cast<std::uint64_t>(i)) >> 11 >= least;
      y[i] = kept ? x[i] * scale : T{0};
    }
  });
}

#define PENCIL_INSTANTIATE(T)                                                            \
  template void compare<T>(Comparison, std::int64_t, const T*, const T*, std::int32_t*); \
  template void select<T>(std::int64_t, const std::int32_t*, const T*, const T*, T*);    \
  template void masked_fill<T>(std::int64_t, const T*, const std::int32_t*, T, T*);
PENCIL_INSTANTIATE(float)
PENCIL_INSTANTIATE(double)
PENCIL_INSTANTIATE(std::int32_t)
#undef PENCIL_INSTANTIATE
template void dropout<float>(std::int64_t, double, std::uint64_t, const float*, float*);
template void dropout<double>(std::int64_t, double, std::uint64_t, const double*, double*);

}  // namespace pencil::kernels
