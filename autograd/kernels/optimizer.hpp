// Updates of parameters, fused into one pass over memory, and the few sums an optimizer asks for.
// Everything here has the same bits for any number of threads: arrays are cut by size, partial sums added in
// order.
#pragma once

#include <cstdint>

namespace pencil::kernels {

/// Where Adam's epsilon stands. With g the gradient, m ← β₁m + (1 − β₁)g, v ← β₂v + (1 − β₂)g², step t = 1,
/// 2, …:
enum class AdamForm {
  /// w ← w − η √(1 − β₂ᵗ) / (1 − β₁ᵗ) · m / (√v + ε): "epsilon hat" of Kingma and Ba 2015, section 2; Keras
  hat,
  /// w ← w − η m̂ / (√v̂ + ε), m̂ = m / (1 − β₁ᵗ), v̂ = v / (1 − β₂ᵗ): their Algorithm 1; PyTorch
  paper,
};

struct AdamSettings {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  AdamForm form = AdamForm::hat;
  double weight_decay = 0;    ///< λ of AdamW (Loshchilov and Hutter 2019): first w ← w − ηλw
  double l2 = 0;              ///< λ of an L2 penalty: g ← g + λw
  double gradient_scale = 1;  ///< g is multiplied by it first: clipping
};

/// One step of Adam on n numbers, step t ≥ 1; m and v start as zeros. Returns the sum of the squares of the
/// changes in w.
template <class T>
double adam(std::int64_t n, const AdamSettings& settings, std::int64_t t, T* w, const T* g, T* m, T* v);

struct MomentumSettings {
  double learning_rate = 1e-2;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;    ///< first w ← w − ηλw
  double l2 = 0;              ///< g ← g + λw
  double gradient_scale = 1;  ///< g is multiplied by it first: clipping
};

/// One step of gradient descent: b ← μb + g; w ← w − ηb (Nesterov: w ← w − η(g + μb)). b starts as zeros and
/// may be null where the momentum is 0. Returns the sum of the squares of the changes in w.
template <class T>
double momentum_step(std::int64_t n, const MomentumSettings& settings, T* w, const T* g, T* b);

/// No number is infinite or NaN.
template <class T>
bool all_finite(std::int64_t n, const T* x);

/// The place of the first number that is infinite or NaN; −1 if there is none.
template <class T>
std::int64_t first_not_finite(std::int64_t n, const T* x);

/// Σ x², summed in double.
template <class T>
double sum_of_squares(std::int64_t n, const T* x);

/// y ← y + a·x
template <class T>
void axpy(std::int64_t n, T a, const T* x, T* y);

}  // namespace pencil::kernels
