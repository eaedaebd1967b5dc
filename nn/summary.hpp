#pragma once

#include <string>

#include "nn/module.hpp"

namespace pencil::nn {

/// A table of the model's children: name and kind, output shape, parameters; then the total and its size. The
/// shapes come from running the model once on zeros of `input` (token models take dtype i32); nothing of it
/// stays.
std::string summary(Module& model, const Shape& input, DType dtype = i32);

}  // namespace pencil::nn
