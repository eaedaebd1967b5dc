#include "nn/attention.hpp"

#include "autograd/autograd.hpp"

namespace pencil::nn {

namespace {

MultiHeadAttentionOptions completed(MultiHeadAttentionOptions o) {
  if (o.width < 1 || o.heads < 1 || o.key_width < 1)
    fail("[attention] .width is {}, .heads {}, .key_width {}; each must be 1 or more", o.width, o.heads,
         o.key_width);
  if (o.value_width == 0) o.value_width = o.key_width;
  if (o.source_width == 0) o.source_width = o.width;
  if (o.value_width < 1 || o.source_width < 1)
    fail("[attention] .value_width is {}, .source_width {}; need 1 or more, or 0 for the default",
         o.value_width, o.source_width);
  return o;
}

Dense projection(const MultiHeadAttentionOptions& o, std::int64_t from, std::int64_t width, Rng& rng) {
  return Dense({.in = from,
                .out = o.heads * width,
                .bias = o.bias,
                .fans = projection_fans(from, o.heads, width, o.init),
                .dtype = o.dtype},
               rng);
}

// (batch, keys) becomes (batch, 1, keys): one mask for all rows.
Tensor per_row(const Tensor& mask, const Tensor& source) {
  const bool keys_alone = mask.defined() && mask.rank() == 2 && source.rank() == 3 &&
                          mask.size(0) == source.size(0) && mask.size(1) == source.size(1);
  return keys_alone ? reshape(mask, {mask.size(0), 1, mask.size(1)}) : mask;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& given, Rng& rng)
    : query(projection(completed(given), given.width, given.key_width, rng)),
      key(projection(completed(given), completed(given).source_width, given.key_width, rng)),
      value(projection(completed(given), completed(given).source_width, completed(given).value_width, rng)),
      options_(completed(given)) {
  const MultiHeadAttentionOptions& o = options_;
  if (o.output)
    output.emplace(DenseOptions{.in = o.heads * o.value_width,
                                .out = o.width,
                                .bias = o.bias,
                                .fans = output_fans(o.heads, o.value_width, o.width, o.init),
                                .dtype = o.dtype},
                   rng);
}

Tensor MultiHeadAttention::forward(const Tensor& x, const Tensor& source, const Tensor& mask) const {
  const auto as = [](const char* role, const Dense& layer, const Tensor& from) {
    const Role scope(role);
    return layer(from);
  };
  const Tensor q = as("query", query, x);
  const Tensor k = as("key", key, source);
  const Tensor v = as("value", value, source);
  const Tensor glued = attention(
      q, k, v,
      {.heads = static_cast<int>(options_.heads), .mask = per_row(mask, source), .causal = options_.causal});
  return output ? as("blend", *output, glued) : glued;
}

Tensor MultiHeadAttention::operator()(const Located& x, const Tensor& source, const Tensor& mask) const {
  const Scope scope(WholePath{path()}, x.where);
  return forward(x, source, mask);
}

Tensor MultiHeadAttention::weights(const Tensor& x, const Tensor& source, const Tensor& mask) const {
  const Tensor q = query(x);
  const Tensor k = key(source);
  return attention_weights(
      q, k,
      {.heads = static_cast<int>(options_.heads), .mask = per_row(mask, source), .causal = options_.causal});
}

void MultiHeadAttention::visit(Visitor& v) {
  v("query", query);
  v("key", key);
  v("value", value);
  if (output) v("output", *output);
}

}  // namespace pencil::nn
