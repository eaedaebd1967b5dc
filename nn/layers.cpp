#include "nn/layers.hpp"

#include <cmath>
#include <map>

#include "autograd/autograd.hpp"

namespace pencil::nn {

namespace {

void check_width(const Tensor& x, std::int64_t width, const char* who) {
  if (x.rank() == 0 || x.size(-1) != width)
    fail("[{}] the input has shape {}; its last axis must be {}", who, x.shape(), width);
}

void check_sheet(const Tensor& x, const char* who) {
  if (x.rank() != 3) fail("[{}] the input has shape {}; need (batch, length, width)", who, x.shape());
}

void check_positive(std::int64_t value, const char* who, const char* option) {
  if (value < 1) fail("[{}] .{} is {}; need 1 or more", who, option, value);
}

}  // namespace

Activation::Activation(const std::string& name) {
  using Function = Tensor (*)(const Located&);
  static const std::map<std::string, Function> known = {
      {"", nullptr},  {"linear", nullptr},
      {"relu", relu}, {"sigmoid", sigmoid},
      {"tanh", tanh}, {"gelu", gelu},
      {"silu", silu}, {"softmax", [](const Located& x) { return softmax(x, -1); }}};
  const auto found = known.find(name);
  if (found == known.end())
    fail(
        "[activation] there is no '{}'; known are relu, sigmoid, tanh, gelu, silu, softmax, linear, or give "
        "a function",
        name);
  if (Function function = found->second) function_ = [function](const Tensor& x) { return function(x); };
}

Activation::Activation(const char* name) : Activation(std::string(name)) {}

Embedding::Embedding(const EmbeddingOptions& options, Rng& rng) : options_(options) {
  check_positive(options.rows, "embedding", "rows");
  check_positive(options.width, "embedding", "width");
  if (options.padding < -1 || options.padding >= options.rows)
    fail("[embedding] .padding is {}; need a row 0 … {}, or -1 for none", options.padding, options.rows - 1);
  Tensor table = uniform({options.rows, options.width}, -options.limit, options.limit, rng, options.dtype);
  if (options.padding >= 0)
    dispatch_float(options.dtype, [&]<class T>(T) {
      const auto row = table.writable<T>().subspan(static_cast<std::size_t>(options.padding * options.width),
                                                   static_cast<std::size_t>(options.width));
      for (T& number : row) number = 0;
    });
  weight = parameter(table, "weight");
}

Tensor Embedding::forward(const Tensor& tokens) const {
  const Role role("embedding");
  return embedding(weight, tokens, {.padding = options_.padding});
}

Dense::Dense(const DenseOptions& options, Rng& rng) : options_(options) {
  check_positive(options.in, "dense", "in");
  check_positive(options.out, "dense", "out");
  const Fans fans = options.fans.in ? options.fans : Fans{options.in, options.out};
  weight = parameter(glorot_uniform({options.out, options.in}, fans, rng, options.dtype), "weight");
  if (options.bias) bias = parameter(zeros({options.out}, options.dtype), "bias");
}

Tensor Dense::forward(const Tensor& x) const {
  check_width(x, options_.in, "dense");
  const Tensor y = bias.defined() ? linear(x, weight, bias) : linear(x, weight);
  return options_.activation(y);
}

void Dense::visit(Visitor& v) {
  v("weight", weight);
  if (bias.defined()) v("bias", bias);
}

Dropout::Dropout(const DropoutOptions& options) : options_(options) {
  if (!(options.rate >= 0 && options.rate <= 1)) fail("[dropout] .rate is {}; need 0 … 1", options.rate);
}

Tensor Dropout::forward(const Tensor& x) const {
  return training() ? dropout(x, options_.rate, mix(mix(options_.seed) + calls_++)) : x;
}

LayerNorm::LayerNorm(const LayerNormOptions& options)
    : weight(parameter(ones({options.width}, options.dtype), "weight")),
      bias(parameter(zeros({options.width}, options.dtype), "bias")),
      epsilon_(options.epsilon) {
  check_positive(options.width, "layer_norm", "width");
}

Tensor LayerNorm::forward(const Tensor& x) const { return layer_norm(x, weight, bias, epsilon_); }

void LayerNorm::visit(Visitor& v) {
  v("weight", weight);
  v("bias", bias);
}

Tensor GlobalAveragePooling1D::forward(const Tensor& x) const {
  check_sheet(x, "average pooling");
  return mean_pool(x);
}

Tensor GlobalAveragePooling1D::operator()(const Located& x, const Tensor& mask) const {
  const Scope scope(WholePath{path()}, x.where);
  check_sheet(x, "average pooling");
  return mean_pool(x, mask);
}

Tensor GlobalMaxPooling1D::forward(const Tensor& x) const {
  check_sheet(x, "max pooling");
  return max_pool(x);
}

Tensor GlobalMaxPooling1D::operator()(const Located& x, const Tensor& mask) const {
  const Scope scope(WholePath{path()}, x.where);
  check_sheet(x, "max pooling");
  return max_pool(x, mask);
}

PositionalEncoding::PositionalEncoding(const PositionalEncodingOptions& options) : options_(options) {
  check_positive(options.width, "positional encoding", "width");
}

Tensor PositionalEncoding::marks(std::int64_t length) const {
  Tensor waves = empty({length, options_.width}, options_.dtype);
  dispatch_float(options_.dtype, [&]<class T>(T) {
    const std::span<T> out = waves.writable<T>();
    std::size_t at = 0;
    for (std::int64_t p = 0; p < length; ++p)
      for (std::int64_t column = 0; column < options_.width; ++column) {
        const double pair = static_cast<double>(column / 2 * 2) / static_cast<double>(options_.width);
        const double angle = static_cast<double>(p + options_.first) / std::pow(10000.0, pair);
        out[at++] = static_cast<T>(column % 2 ? std::cos(angle) : std::sin(angle));
      }
  });
  return named(waves, "positions");
}

Tensor PositionalEncoding::forward(const Tensor& x) const {
  check_sheet(x, "positional encoding");
  check_width(x, options_.width, "positional encoding");
  const Role role("position");
  return x + marks(x.size(1));
}

Tensor Sequential::forward(const Tensor& x) const {
  Tensor y = x;
  for (const auto& [name, module] : children_) y = (*module)(y);
  return y;
}

void Sequential::visit(Visitor& v) {
  for (const auto& [name, module] : children_) v(name, *module);
}

}  // namespace pencil::nn
