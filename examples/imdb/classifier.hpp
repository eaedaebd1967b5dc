#pragma once

#include <optional>

#include "nn/nn.hpp"

namespace pencil::imdb {

enum class Arch { attention, bag };

/// The first document's model, its numbers as defaults: Embedding → MultiHeadAttention → average → Dense →
/// Dense.
struct ClassifierOptions {
  Arch arch = Arch::attention;
  std::int64_t vocabulary = 10000;  // token numbers 0 … vocabulary − 1, 0 being the padding
  std::int64_t width = 32;
  std::int64_t heads = 2;
  std::int64_t key_width = 32;
  std::int64_t hidden = 20;
  double dropout = 0.1;
  bool positions = false;  // position marks before attention
  bool mask = false;       // padding is neither looked at nor averaged
  nn::Init init = nn::Init::keras;
  std::uint64_t seed = 1;
  DType dtype = f32;
};

/// Token numbers (batch, length) i32 → one logit a review, (batch). Its sigmoid is the chance that the review
/// liked the film.
class Classifier : public nn::Module {
 public:
  explicit Classifier(const ClassifierOptions& options);
  Tensor forward(const Tensor& tokens) const override;
  void visit(nn::Visitor& v) override;
  std::string_view kind() const override { return "Classifier"; }
  const ClassifierOptions& options() const { return options_; }

  /// Attention's weights (batch, heads, rows, keys) for these tokens; throws for a bag, which has none.
  Tensor weights(const Tensor& tokens) const;

 private:
  Classifier(const ClassifierOptions& options, Rng rng);
  Tensor sheet(const Tensor& tokens) const;    // (batch, length, width), position marks added
  Tensor mask_of(const Tensor& tokens) const;  // (batch, length) i32, or undefined

  ClassifierOptions options_;

 public:
  nn::Embedding embed;
  std::optional<nn::PositionalEncoding> positions;
  std::optional<nn::MultiHeadAttention> attend;
  nn::GlobalAveragePooling1D collapse;
  nn::Dropout drop1, drop2;
  nn::Dense dense1, dense2;
};

}  // namespace pencil::imdb
