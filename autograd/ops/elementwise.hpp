#pragma once

#include <concepts>

#include "autograd/op.hpp"

namespace pencil {

/// One side of an arithmetic op: a tensor or a plain number, which takes the other side's dtype. Made
/// silently, with the line it stands in.
class Operand {
 public:
  Operand(const Tensor& x, Where at = Where::current())
      : where(at), tensor_(&x) {}                              // NOLINT: silent on purpose
  Operand(const Located& x) : where(x.where), tensor_(&*x) {}  // NOLINT
  template <class N>
  requires std::integral<N> || std::floating_point<N> Operand(N number, Where at = Where::current())
      : where(at), number_(static_cast<double>(number)) {}  // NOLINT

  /// The tensor, or null for a number.
  const Tensor* tensor() const { return tensor_; }
  /// The number, where it is one.
  double number() const { return number_; }
  /// The tensor; a number becomes one of rank 0 with the given dtype, printed in place on a tape.
  Tensor as_tensor(DType dtype) const;

  Where where;

 private:
  const Tensor* tensor_ = nullptr;
  double number_ = 0;
};

/// Both sides as tensors of one dtype, and the line of the call. Throws Error naming `who` where the dtypes
/// differ or neither side is a tensor.
struct OperandPair {
  OperandPair(const char* who, const Operand& a, const Operand& b);
  Tensor a, b;
  Where where;
};

// Arithmetic with NumPy broadcasting, f32 or f64. A plain number may stand on either side.
Tensor add(const Operand& a, const Operand& b);
Tensor sub(const Operand& a, const Operand& b);
Tensor mul(const Operand& a, const Operand& b);
Tensor div(const Operand& a, const Operand& b);
/// a to the power b. pow(0, 0) = 1 with gradient 0; the logarithm of a is only taken where b needs a
/// gradient.
Tensor pow(const Operand& a, const Operand& b);
/// The larger and the smaller; NaN wins; ties share the gradient equally.
Tensor maximum(const Operand& a, const Operand& b);
Tensor minimum(const Operand& a, const Operand& b);

inline Tensor operator+(const Operand& a, const Operand& b) { return add(a, b); }
inline Tensor operator-(const Operand& a, const Operand& b) { return sub(a, b); }
inline Tensor operator*(const Operand& a, const Operand& b) { return mul(a, b); }
inline Tensor operator/(const Operand& a, const Operand& b) { return div(a, b); }
// These bind the name on the left to a new tensor; nobody else's values change.
inline Tensor& operator+=(Tensor& a, const Operand& b) { return a = add({a, b.where}, b); }
inline Tensor& operator-=(Tensor& a, const Operand& b) { return a = sub({a, b.where}, b); }
inline Tensor& operator*=(Tensor& a, const Operand& b) { return a = mul({a, b.where}, b); }
inline Tensor& operator/=(Tensor& a, const Operand& b) { return a = div({a, b.where}, b); }

Tensor neg(const Located& x);
inline Tensor operator-(const Located& x) { return neg(x); }
Tensor square(const Located& x);
Tensor exp(const Located& x);
Tensor log(const Located& x);
Tensor sqrt(const Located& x);
/// 1 / √x.
Tensor rsqrt(const Located& x);
Tensor sin(const Located& x);
Tensor cos(const Located& x);
Tensor tanh(const Located& x);
/// 1 / (1 + e^−x).
Tensor sigmoid(const Located& x);
/// max(x, 0); the derivative at 0 is 0.
Tensor relu(const Located& x);
/// |x|; the derivative at 0 is 0.
Tensor abs(const Located& x);
Tensor erf(const Located& x);
/// log(1 + e^x), exact for large x.
Tensor softplus(const Located& x);
/// log(sigmoid(x)), exact for very negative x.
Tensor log_sigmoid(const Located& x);
/// x Φ(x) by the error function (Hendrycks and Gimpel, 2016).
Tensor gelu(const Located& x);
/// x sigmoid(x).
Tensor silu(const Located& x);
/// √x and log x where x > 0; 0 with gradient 0 elsewhere.
Tensor safe_sqrt(const Located& x);
Tensor safe_log(const Located& x);
/// x kept within [low, high]; the gradient passes where low ≤ x ≤ high.
Tensor clamp(const Located& x, double low, double high);

}  // namespace pencil
