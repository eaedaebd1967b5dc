#include "autograd/kernels/optimizer.hpp"

#include <atomic>
#include <cmath>
#include <vector>

#include "autograd/kernels/optimizer_table.hpp"
#include "autograd/kernels/threads.hpp"

namespace pencil::kernels {
namespace {

constexpr std::int64_t grain = 1 << 14;

template <class T>
const OptimizerTable<T>& table() {
  static const OptimizerTable<T>& chosen =
      choose([]<Isa set>() -> const OptimizerTable<T>& { return optimizer_table<T, set>(); });
  return chosen;
}

/// The sum of f(begin, end) over pieces of `grain` numbers, added in order.
template <class F>
double sum_of_pieces(std::int64_t n, const F& f) {
  if (n <= 0) return 0;
  if (n <= grain) return f(std::int64_t{0}, n);
  std::vector<double> sums(static_cast<std::size_t>((n - 1) / grain + 1));
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    sums[static_cast<std::size_t>(begin / grain)] = f(begin, end);
  });
  double sum = 0;
  for (const double s : sums) sum += s;
  return sum;
}

}  // namespace

template <class T>
double adam(std::int64_t n, const AdamSettings& s, std::int64_t t, T* w, const T* g, T* m, T* v) {
  const double correction1 = 1 - std::pow(s.beta1, static_cast<double>(t));
  const double correction2 = std::sqrt(1 - std::pow(s.beta2, static_cast<double>(t)));
  const bool hat = s.form == AdamForm::hat;
  const AdamNumbers<T> a{
      .scale = static_cast<T>(s.gradient_scale),
      .l2 = static_cast<T>(s.l2),
      .keep = static_cast<T>(1 - s.learning_rate * s.weight_decay),
      .beta1 = static_cast<T>(s.beta1),
      .one_less_beta1 = static_cast<T>(1 - s.beta1),
      .beta2 = static_cast<T>(s.beta2),
      .one_less_beta2 = static_cast<T>(1 - s.beta2),
      .rate = static_cast<T>(s.learning_rate / correction1 * (hat ? correction2 : 1)),
      .root = static_cast<T>(hat ? 1 : 1 / correction2),
      .epsilon = static_cast<T>(s.epsilon),
  };
  return sum_of_pieces(n, [&, step = table<T>().adam](std::int64_t begin, std::int64_t end) {
    return step(end - begin, a, w + begin, g + begin, m + begin, v + begin);
  });
}

template <class T>
double momentum_step(std::int64_t n, const MomentumSettings& s, T* w, const T* g, T* b) {
  const MomentumNumbers<T> a{
      .scale = static_cast<T>(s.gradient_scale),
      .l2 = static_cast<T>(s.l2),
      .keep = static_cast<T>(1 - s.learning_rate * s.weight_decay),
      .momentum = static_cast<T>(s.momentum),
      .rate = static_cast<T>(s.learning_rate),
      .nesterov = s.nesterov,
  };
  return sum_of_pieces(n, [&, step = table<T>().momentum](std::int64_t begin, std::int64_t end) {
    return step(end - begin, a, w + begin, g + begin, b == nullptr ? nullptr : b + begin);
  });
}

template <class T>
bool all_finite(std::int64_t n, const T* x) {
  std::atomic<bool> finite{true};
  parallel_for(n, grain, [&, scan = table<T>().all_finite](std::int64_t begin, std::int64_t end) {
    if (!scan(end - begin, x + begin)) finite.store(false, std::memory_order_relaxed);
  });
  return finite.load();
}

template <class T>
std::int64_t first_not_finite(std::int64_t n, const T* x) {
  for (std::int64_t begin = 0; begin < n; begin += grain) {
    const std::int64_t end = begin + grain < n ? begin + grain : n;
    if (table<T>().all_finite(end - begin, x + begin)) continue;
    for (std::int64_t i = begin; i < end; ++i)
      if (!std::isfinite(x[i])) return i;
  }
  return -1;
}

template <class T>
double sum_of_squares(std::int64_t n, const T* x) {
  return sum_of_pieces(n, [&, sum = table<T>().sum_of_squares](std::int64_t begin, std::int64_t end) {
    return sum(end - begin, x + begin);
  });
}

template <class T>
void axpy(std::int64_t n, T a, const T* x, T* y) {
  parallel_for(n, grain, [&, add = table<T>().axpy](std::int64_t begin, std::int64_t end) {
    add(end - begin, a, x + begin, y + begin);
  });
}

template double adam(std::int64_t, const AdamSettings&, std::int64_t, float*, const float*, float*, float*);
template double adam(std::int64_t, const AdamSettings&, std::int64_t, double*, const double*, double*,
                     double*);
template double momentum_step(std::int64_t, const MomentumSettings&, float*, const float*, float*);
template double momentum_step(std::int64_t, const MomentumSettings&, double*, const double*, double*);
template bool all_finite(std::int64_t, const float*);
template bool all_finite(std::int64_t, const double*);
template std::int64_t first_not_finite(std::int64_t, const float*);
template std::int64_t first_not_finite(std::int64_t, const double*);
template double sum_of_squares(std::int64_t, const float*);
template double sum_of_squares(std::int64_t, const double*);
template void axpy(std::int64_t, float, const float*, float*);
template void axpy(std::int64_t, double, const double*, double*);

}  // namespace pencil::kernels
