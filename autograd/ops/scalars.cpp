// stack and unstack: between tensors and Scalars.

#include "autograd/ops/scalars.hpp"

#include "autograd/tape.hpp"

namespace pencil {

Tensor stack(std::span<const Scalar> x, Where where) { return detail::stacked(x, where); }

std::vector<Scalar> unstack(const Tensor& x, Where where) {
  return detail::unstacked(x.to(f64, where), where);
}

}  // namespace pencil
