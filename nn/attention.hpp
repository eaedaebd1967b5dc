#pragma once

#include <optional>

#include "nn/layers.hpp"

namespace pencil::nn {

struct MultiHeadAttentionOptions {
  std::int64_t width = 0;  // of the input of queries, and of the output
  std::int64_t heads = 1;
  std::int64_t key_width = 0;     // of one head's queries and keys
  std::int64_t value_width = 0;   // of one head's values; 0: key_width
  std::int64_t source_width = 0;  // of the input of keys and values; 0: width
  bool bias = true;
  bool output = true;   // false: the heads' results side by side come back bare, (…, heads · value_width)
  bool causal = false;  // a row looks at itself and what stands before it
  Init init = Init::keras;
  DType dtype = f32;
};

/// Scaled dot-product attention in several heads (Vaswani and others, 2017, section 3.2), as Keras's
/// MultiHeadAttention: softmax(q kᵀ / √key_width) v in each head, the heads side by side, then the output
/// projection.
///
/// Masks are i32, 1 = may be looked at: (batch, keys) for keys alone, else as `pencil::attention` takes them.
/// A row that may look at nothing gets zeros (and the output's bias).
class MultiHeadAttention : public Module {
 public:
  MultiHeadAttention(const MultiHeadAttentionOptions& options, Rng& rng);

  /// Self-attention: queries, keys and values from x (batch, length, width).
  Tensor forward(const Tensor& x) const override { return forward(x, x, Tensor()); }
  /// Queries from x, keys and values from `source` (batch, keys, source_width); an undefined mask hides
  /// nothing.
  Tensor forward(const Tensor& x, const Tensor& source, const Tensor& mask) const;
  using Module::operator();
  Tensor operator()(const Located& x, const Tensor& source, const Tensor& mask = {}) const;

  /// The attention weights (batch, heads, rows, keys) that the same call would use. Changes no output.
  Tensor weights(const Tensor& x, const Tensor& source, const Tensor& mask = {}) const;

  void visit(Visitor& v) override;
  std::string_view kind() const override { return "MultiHeadAttention"; }
  const MultiHeadAttentionOptions& options() const { return options_; }

  Dense query, key, value;      // weights (heads · key_width, width) and so on
  std::optional<Dense> output;  // (width, heads · value_width)

 private:
  MultiHeadAttentionOptions options_;
};

}  // namespace pencil::nn
