#include "optim/update.hpp"

#include <cmath>

#include "autograd/kernels/threads.hpp"

namespace pencil::optim::detail {

namespace {
constexpr std::int64_t grain = 1 << 14;
}

template <class T>
void adam_update(const AdamUpdate& step, std::int64_t n, const T* g, T* w, T* m, T* v) {
  const T scale = static_cast<T>(step.scale), keep = static_cast<T>(step.keep),
          rate = static_cast<T>(step.rate), spread = static_cast<T>(step.spread),
          epsilon = static_cast<T>(step.epsilon), first = static_cast<T>(1 - step.beta1),
          second = static_cast<T>(1 - step.beta2);
  kernels::parallel_for(n, grain, [=](std::int64_t begin, std::int64_t end) {
#pragma omp simd
    for (std::int64_t i = begin; i < end; ++i) {
      const T gradient = scale * g[i];
      m[i] += first * (gradient - m[i]);
      v[i] += second * (gradient * gradient - v[i]);
      w[i] = keep * w[i] - rate * m[i] / (spread * std::sqrt(v[i]) + epsilon);
    }
  });
}

template <class T>
void sgd_update(const SgdUpdate& step, std::int64_t n, const T* g, T* w, T* m) {
  const T scale = static_cast<T>(step.scale), rate = static_cast<T>(step.rate),
          momentum = static_cast<T>(step.momentum);
  kernels::parallel_for(n, grain, [=, nesterov = step.nesterov](std::int64_t begin, std::int64_t end) {
    if (m == nullptr) {
      for (std::int64_t i = begin; i < end; ++i) w[i] -= rate * scale * g[i];
      return;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const T gradient = scale * g[i];
      m[i] = momentum * m[i] + gradient;
      w[i] -= rate * (nesterov ? gradient + momentum * m[i] : m[i]);
    }
  });
}

template void adam_update(const AdamUpdate&, std::int64_t, const float*, float*, float*, float*);
template void adam_update(const AdamUpdate&, std::int64_t, const double*, double*, double*, double*);
template void sgd_update(const SgdUpdate&, std::int64_t, const float*, float*, float*);
template void sgd_update(const SgdUpdate&, std::int64_t, const double*, double*, double*);

}  // namespace pencil::optim::detail
