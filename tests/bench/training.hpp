// The documents' training step: 64 reviews of 100 words, the classifier with its default sizes, and Adam.
#pragma once

#include "autograd/autograd.hpp"
#include "examples/imdb/classifier.hpp"
#include "nn/nn.hpp"
#include "optim/optim.hpp"

namespace pencil::bench {

class Training {
 public:
  static constexpr std::int64_t batch = 64, length = 100;

  explicit Training(DType dtype = f32) : model_({.dtype = dtype}), adam_(nn::parameters(model_), {}) {
    Rng rng{1};
    tokens_ = whole_numbers({batch, length}, static_cast<std::uint64_t>(model_.options().vocabulary), rng);
    labels_ = whole_numbers({batch}, 2, rng);
    model_.train();
  }

  /// Adds the gradients to the parameters; returns the loss.
  Tensor backward(const TapeOptions& options = {.keep = Keep::leaves}) {
    Tape tape(options);
    const Tensor loss = binary_cross_entropy_with_logits(model_(tokens_), labels_);
    tape.backward(loss);
    return loss;
  }

  void step(const TapeOptions& options = {.keep = Keep::leaves}) {
    backward(options);
    adam_.step();
  }

  /// The logits of the first reviews, as many as asked for, dropping nothing.
  Tensor judge(std::int64_t reviews) {
    model_.eval();
    const Tensor logits = model_(slice(tokens_, 0, 0, reviews));
    model_.train();
    return logits;
  }

  std::vector<Tensor> parameters() { return nn::parameters(model_); }
  const Tensor& tokens() const { return tokens_; }
  const Tensor& labels() const { return labels_; }

  /// Operations of the matrix products, a multiplication and an addition being two: for each word the four
  /// projections and, in both heads, its scores and its mix over the words of the review. The gradient takes
  /// twice as many.
  double forward_flop(std::int64_t reviews) const {
    const imdb::ClassifierOptions& o = model_.options();
    const double wide = static_cast<double>(o.heads * o.key_width);
    return static_cast<double>(reviews * length) * 4 * wide * static_cast<double>(o.width + length);
  }

 private:
  static Tensor whole_numbers(const Shape& shape, std::uint64_t end, Rng& rng) {
    Tensor numbers = empty(shape, i32);
    for (std::int32_t& n : numbers.writable<std::int32_t>()) n = static_cast<std::int32_t>(rng.below(end));
    return numbers;
  }

  imdb::Classifier model_;
  optim::Adam adam_;
  Tensor tokens_, labels_;
};

}  // namespace pencil::bench
