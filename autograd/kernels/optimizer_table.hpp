// What isa/optimizer.cpp offers to optimizer.cpp: the loops over one piece of an array.
#pragma once

#include <cstdint>

#include "autograd/kernels/dispatch.hpp"

namespace pencil::kernels {

/// g ← scale·g + l2·w; w ← keep·w; m ← β₁m + (1 − β₁)g; v ← β₂v + (1 − β₂)g²; w ← w − rate · m / (root·√v +
/// ε)
template <class T>
struct AdamNumbers {
  T scale, l2, keep, beta1, one_less_beta1, beta2, one_less_beta2, rate, root, epsilon;
};

/// g ← scale·g + l2·w; w ← keep·w; b ← μb + g; w ← w − rate · (b, or g + μb)
template <class T>
struct MomentumNumbers {
  T scale, l2, keep, momentum, rate;
  bool nesterov;
};

template <class T>
struct OptimizerTable {
  double (*adam)(std::int64_t n, const AdamNumbers<T>& a, T* w, const T* g, T* m, T* v);
  double (*momentum)(std::int64_t n, const MomentumNumbers<T>& a, T* w, const T* g, T* b);
  bool (*all_finite)(std::int64_t n, const T* x);
  double (*sum_of_squares)(std::int64_t n, const T* x);
  void (*axpy)(std::int64_t n, T a, const T* x, T* y);
};

template <class T, Isa>
const OptimizerTable<T>& optimizer_table();

}  // namespace pencil::kernels
