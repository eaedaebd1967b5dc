#pragma once

#include <initializer_list>
#include <vector>

#include "autograd/op.hpp"

namespace pencil {

/// One axis, or several in braces; negative ones count from the end.
class Axes {
 public:
  Axes(int axis) : axes_{axis} {}                          // NOLINT: silent on purpose
  Axes(std::initializer_list<int> axes) : axes_(axes) {}   // NOLINT
  Axes(std::vector<int> axes) : axes_(std::move(axes)) {}  // NOLINT

  const std::vector<int>& list() const { return axes_; }

 private:
  std::vector<int> axes_;
};

// Over all axes (the result has shape ()), or over some, which are dropped from the shape or, with `keep`,
// stay with size 1. f32 and f64. Throw Error for an axis that is not there or given twice.

/// 0 over nothing.
Tensor sum(const Located& x);
Tensor sum(const Located& x, const Axes& axes, bool keep = false);
/// 0, with gradient 0, over nothing.
Tensor mean(const Located& x);
Tensor mean(const Located& x, const Axes& axes, bool keep = false);
/// The largest and the smallest; NaN where there is one. Ties share the gradient equally. Throw Error over
/// an empty axis.
Tensor max(const Located& x);
Tensor max(const Located& x, const Axes& axes, bool keep = false);
Tensor min(const Located& x);
Tensor min(const Located& x, const Axes& axes, bool keep = false);
/// Σ (x − mean)² / (n − correction), and its square root, whose gradient is 0 where it is 0. Throw Error
/// unless n > correction.
Tensor var(const Located& x);
Tensor var(const Located& x, const Axes& axes, bool keep = false, double correction = 1);
Tensor stddev(const Located& x);
Tensor stddev(const Located& x, const Axes& axes, bool keep = false, double correction = 1);
/// √Σx²; the gradient is 0 where it is 0.
Tensor norm(const Located& x);
Tensor norm(const Located& x, const Axes& axes, bool keep = false);

/// log Σ eˣ along an axis, without overflow; −∞ over nothing.
Tensor logsumexp(const Located& x, int axis, bool keep = false);
/// The running sum along an axis: y[i] = x[0] + … + x[i].
Tensor cumsum(const Located& x, int axis);
/// The index (i32) of the first largest number along an axis, of the first NaN if there is one. A mark: no
/// gradient passes. Throws Error over an empty axis.
Tensor argmax(const Located& x, int axis);

}  // namespace pencil
