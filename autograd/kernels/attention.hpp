#pragma once

#include <cstdint>

namespace pencil::kernels {

/// What an attention looks like: q (batch, queries, heads · width), k (batch, keys, heads · width) and v
/// (batch, keys, heads · value_width), the heads side by side in each row.
struct AttentionShape {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t queries = 0;
  std::int64_t keys = 0;
  std::int64_t width = 0;
  std::int64_t value_width = 0;
  double scale = 1;
  /// Query i sees the keys up to i + (keys − queries).
  bool causal = false;
  /// If not null: not 0 where a query may look at a key. Strides, in numbers, of batch, head, query and key;
  /// 0 for an axis that the mask does not have.
  const std::int32_t* mask = nullptr;
  std::int64_t mask_stride[4] = {0, 0, 0, 0};
};

/// out (batch, queries, heads · value_width): per head Σ_j weight_ij v_j with
///     weight_ij = exp(scale q_i·k_j − lse_i),   lse_i = log Σ_j exp(scale q_i·k_j)   over the keys i sees
/// (Vaswani et al. 2017, section 3.2). A key that i does not see has weight exactly 0, and no number of its
/// row, NaN and infinity included, reaches out_i or a gradient. A query that sees none has out 0, lse −∞ and
/// no gradient. lse (batch, heads, queries) is saved for the gradient. Scores are made a tile of queries at a
/// time: working memory grows with keys, not with queries · keys.
template <class T>
void attention(const AttentionShape& shape, const T* q, const T* k, const T* v, T* out, T* lse);

/// The gradients dq, dk, dv, each the shape of its input; any may be null. Weights are computed again from
/// lse (Dao et al. 2022, FlashAttention, section 3.1).
template <class T>
void attention_gradient(const AttentionShape& shape, const T* q, const T* k, const T* v, const T* out,
                        const T* lse, const T* dout, T* dq, T* dk, T* dv);

/// The weights themselves, (batch, heads, queries, keys); shape.value_width is not looked at.
template <class T>
void attention_weights(const AttentionShape& shape, const T* q, const T* k, T* weights);

}  // namespace pencil::kernels
