#pragma once

#include "autograd/op.hpp"

namespace pencil {

struct AttentionOptions {
  int heads = 1;
  /// i32, not 0 where a row may look at a key: (rows, keys), (batch, rows, keys) or (batch, heads, rows,
  /// keys), where batch, heads and rows may be 1 for all.
  Tensor mask = {};
  /// Row i looks at the keys up to i + (keys − rows) only: at itself and what stands before it.
  bool causal = false;
  /// What scores are multiplied by; 0 stands for 1 / √(width of a head).
  double scale = 0;
};

/// Scaled dot-product attention (Vaswani et al.: Attention Is All You Need, 2017, section 3.2): each row of
/// q takes the mean of the rows of v, weighted by softmax(scale q·k) over the keys it may look at.
///
/// q (batch, rows, heads · width), k (batch, keys, heads · width), v (batch, keys, heads · value width), the
/// heads side by side → (batch, rows, heads · value width). Without the batch axis, one batch. What a row may
/// not look at has weight exactly 0 and cannot reach it or a gradient, NaN and infinity included; a row that
/// may look at nothing gives zeros and has gradient 0. Memory grows with rows + keys, not with their product.
/// Throws Error where shapes, heads or mask do not fit.
Tensor attention(const Located& q, const Located& k, const Located& v, const AttentionOptions& options = {});

/// The weights of the same attention: (batch, heads, rows, keys); batch is 1 where q and k have none. Each
/// row adds up to 1, or to 0 where it may look at nothing.
Tensor attention_weights(const Located& q, const Located& k, const AttentionOptions& options = {});

}  // namespace pencil
