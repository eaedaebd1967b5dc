#pragma once

// Attention in simpler ops, and number by number; no part of the public interface.

#include "autograd/arithmetic.hpp"
#include "autograd/op.hpp"

namespace pencil::detail {

constexpr std::size_t attention_mask = 3;  // where the mask stands: q, k, v, mask
constexpr std::size_t weights_mask = 2;    // q, k, mask

std::int64_t heads_of(const Attributes& attributes);
/// A mask as (batch, heads, rows, keys), each its size or 1.
Shape mask_shape(const Tensor& mask);

/// (…, rows, heads · width) → (…, heads, rows, width) and back; one head stays as it is.
Tensor heads_apart(const Tensor& x, std::int64_t heads);
Tensor heads_together(const Tensor& x, const Shape& shape);

/// What the ops "attention" and "attention_weights" are composed of.
Tensor attention_in_steps(Inputs in, const Attributes& attributes);
Tensor weights_in_steps(Inputs in, const Attributes& attributes);

/// Their arithmetic: scores, scale, the softmax recipe, and for attention the mix.
Worked explain_attention(Worksheet& sheet, std::int64_t element);
Worked explain_weights(Worksheet& sheet, std::int64_t element);

}  // namespace pencil::detail
