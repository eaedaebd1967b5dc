#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "nn/initializers.hpp"
#include "nn/module.hpp"

namespace pencil::nn {

/// A function between layers, by name ("relu", "sigmoid", "tanh", "gelu", "silu", "softmax", "linear" or ""
/// for none) or any function of a tensor. Throws Error for a name it does not know.
class Activation {
 public:
  Activation() = default;
  Activation(const char* name);         // NOLINT: silent on purpose
  Activation(const std::string& name);  // NOLINT
  template <class F>
  requires std::invocable<F, const Tensor&> Activation(F function)
      : function_(std::move(function)) {}  // NOLINT
  Tensor operator()(const Tensor& x) const { return function_ ? function_(x) : x; }

 private:
  std::function<Tensor(const Tensor&)> function_;
};

struct EmbeddingOptions {
  std::int64_t rows = 0;  // how many token numbers there are, 0 … rows − 1
  std::int64_t width = 0;
  std::int64_t padding =
      -1;               // a row of zeros that never learns; −1: none, row 0 is an ordinary row as in Keras
  double limit = 0.05;  // rows start uniform in ±limit
  DType dtype = f32;
};

/// Token numbers (…) i32 → vectors (…, width). Token numbers outside 0 … rows − 1 throw.
class Embedding : public Module {
 public:
  Embedding(const EmbeddingOptions& options, Rng& rng);
  Tensor forward(const Tensor& tokens) const override;
  void visit(Visitor& v) override { v("weight", weight); }
  std::string_view kind() const override { return "Embedding"; }
  const EmbeddingOptions& options() const { return options_; }

  Tensor weight;  // (rows, width)

 private:
  EmbeddingOptions options_;
};

struct DenseOptions {
  std::int64_t in = 0;
  std::int64_t out = 0;
  Activation activation = {};
  bool bias = true;
  Fans fans = {0, 0};  // for the Glorot start; 0: in and out
  DType dtype = f32;
};

/// activation(x Wᵀ + b): (…, in) → (…, out). W starts Glorot uniform, b at 0.
class Dense : public Module {
 public:
  Dense(const DenseOptions& options, Rng& rng);
  Tensor forward(const Tensor& x) const override;
  void visit(Visitor& v) override;
  std::string_view kind() const override { return "Dense"; }
  const DenseOptions& options() const { return options_; }

  Tensor weight;  // (out, in)
  Tensor bias;    // (out); undefined without bias

 private:
  DenseOptions options_;
};

struct DropoutOptions {
  double rate = 0;         // 0 … 1: the share that becomes 0; the rest is scaled by 1 / (1 − rate)
  std::uint64_t seed = 0;  // which numbers fall follows from the seed and the count of calls alone
};

/// Drops numbers at random while training; the identity otherwise.
class Dropout : public Module {
 public:
  explicit Dropout(const DropoutOptions& options);
  Tensor forward(const Tensor& x) const override;
  std::string_view kind() const override { return "Dropout"; }
  const DropoutOptions& options() const { return options_; }

 private:
  DropoutOptions options_;
  mutable std::uint64_t calls_ = 0;
};

struct LayerNormOptions {
  std::int64_t width = 0;
  double epsilon = 1e-5;
  DType dtype = f32;
};

/// (x − mean) / √(variance + epsilon) over the last axis, times weight, plus bias (Ba, Kiros and Hinton,
/// 2016).
class LayerNorm : public Module {
 public:
  explicit LayerNorm(const LayerNormOptions& options);
  Tensor forward(const Tensor& x) const override;
  void visit(Visitor& v) override;
  std::string_view kind() const override { return "LayerNorm"; }

  Tensor weight, bias;  // (width), starting at 1 and 0

 private:
  double epsilon_;
};

/// The mean over axis 1: (batch, length, width) → (batch, width).
class GlobalAveragePooling1D : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
  /// With a mask (batch, length), i32 0/1: only rows whose mask is 1 count; where none does the result is 0.
  Tensor operator()(const Located& x, const Tensor& mask) const;
  using Module::operator();
  std::string_view kind() const override { return "GlobalAveragePooling1D"; }
};

/// The largest over axis 1; masks as above.
class GlobalMaxPooling1D : public Module {
 public:
  Tensor forward(const Tensor& x) const override;
  Tensor operator()(const Located& x, const Tensor& mask) const;
  using Module::operator();
  std::string_view kind() const override { return "GlobalMaxPooling1D"; }
};

struct PositionalEncodingOptions {
  std::int64_t width = 0;
  std::int64_t first = 0;  // the number of the first position; the first document counts from 1
  DType dtype = f32;
};

/// Adds fixed waves to (batch, length, width): at position p, sin(p / 10000^(2i/width)) in column 2i and the
/// cosine of the same in column 2i + 1 (Vaswani and others, 2017, section 3.5).
class PositionalEncoding : public Module {
 public:
  explicit PositionalEncoding(const PositionalEncodingOptions& options);
  Tensor forward(const Tensor& x) const override;
  std::string_view kind() const override { return "PositionalEncoding"; }
  /// The waves alone: (length, width).
  Tensor marks(std::int64_t length) const;

 private:
  PositionalEncodingOptions options_;
};

/// One module after another. Children are named "0", "1" … or as given.
class Sequential : public Module {
 public:
  template <class... Modules>
  requires(std::derived_from<Modules, Module>&&...) explicit Sequential(Modules... modules) {
    (add(std::to_string(children_.size()), std::move(modules)), ...);
  }
  template <class M>
  requires std::derived_from<M, Module> Sequential& add(std::string name, M module) {
    children_.emplace_back(std::move(name), std::make_unique<M>(std::move(module)));
    return *this;
  }
  Tensor forward(const Tensor& x) const override;
  void visit(Visitor& v) override;
  std::string_view kind() const override { return "Sequential"; }

 private:
  std::vector<std::pair<std::string, std::unique_ptr<Module>>> children_;
};

}  // namespace pencil::nn
