#pragma once

#include <functional>
#include <vector>

#include "autograd/op.hpp"

namespace pencil {

// Derivatives of functions of tensors, each on a tape of its own: nothing is recorded on a tape around them,
// and no parameter gets a gradient. f32 or f64. A function that does not depend on x has derivatives of 0.
// Throw Error where an op on the way cannot be differentiated as often.

/// ∂y/∂x of y = f(x), of the shape of y followed by that of x. One sweep for each number of y.
///
///     jacobian([](const Tensor& x) { return square(x); }, tensor({1, 2, 3}))   // diag(2, 4, 6)
Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x);

/// ∂²y/∂x² of a function that gives one number, of the shape of x twice. One sweep for each number of x: for
/// small ones, to be seen whole.
Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x);

/// The Hessian times v, which has the shape of x: Σₖ ∂²y/∂x∂xₖ vₖ. Two sweeps, whatever the size of x.
Tensor hessian_vector_product(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                              const Tensor& v);

/// The same over several tensors together, all parameters of a model, say: one product each, of its shape. f
/// is called with xs, and may use them where they are.
std::vector<Tensor> hessian_vector_product(const std::function<Tensor(Inputs)>& f, Inputs xs, Inputs vs);

}  // namespace pencil
