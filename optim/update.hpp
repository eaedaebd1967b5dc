// The loops of the optimizers: one parameter's numbers, its moments, its gradient. No state, no Tensor.
#pragma once

#include <cstdint>

namespace pencil::optim::detail {

/// g' = scale g;  m += (1 − beta1)(g' − m);  v += (1 − beta2)(g'² − v);  w = keep w − rate m / (spread √v +
/// epsilon)
struct AdamUpdate {
  double scale;  // of the gradient: 1, less when clipped
  double beta1;
  double beta2;
  double keep;    // 1 − decay
  double rate;    // with the bias corrections that the form puts there
  double spread;  // the bias correction of √v where the form puts it there, else 1
  double epsilon;
};
template <class T>
void adam_update(const AdamUpdate& step, std::int64_t n, const T* g, T* w, T* m, T* v);

/// m = momentum m + scale g;  w −= rate m, or with Nesterov's look ahead w −= rate (scale g + momentum m)
struct SgdUpdate {
  double scale;
  double rate;
  double momentum;
  bool nesterov;
};
/// m may be null where momentum is 0.
template <class T>
void sgd_update(const SgdUpdate& step, std::int64_t n, const T* g, T* w, T* m);

}  // namespace pencil::optim::detail
