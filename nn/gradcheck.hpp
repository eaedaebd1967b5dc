#pragma once

#include "autograd/ops/gradcheck.hpp"
#include "nn/module.hpp"

namespace pencil::nn {

/// Compares the gradients of a whole model, by all its parameters and by its input where that is f64, with
/// central differences (autograd/ops/gradcheck.hpp). Its parameters are f64: make the layers with .dtype =
/// f64; f32 is refused. They are neither written nor given a gradient. In messages a parameter goes by its
/// path, "attend.query.weight". The model is best in evaluation mode, for dropout changes at each call.
GradcheckReport gradcheck(Module& model, const Tensor& x, const GradcheckOptions& options = {});

/// The same, and the gradients of the gradients.
GradcheckReport gradgradcheck(Module& model, const Tensor& x, GradcheckOptions options = {});

}  // namespace pencil::nn
