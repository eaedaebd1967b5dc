#include "examples/imdb/classifier.hpp"

#include "autograd/autograd.hpp"

namespace pencil::imdb {

namespace {

std::optional<nn::PositionalEncoding> make_positions(const ClassifierOptions& o) {
  if (!o.positions) return std::nullopt;
  return nn::PositionalEncoding({.width = o.width, .dtype = o.dtype});
}

std::optional<nn::MultiHeadAttention> make_attention(const ClassifierOptions& o, Rng& rng) {
  if (o.arch == Arch::bag) return std::nullopt;
  return nn::MultiHeadAttention(
      {.width = o.width, .heads = o.heads, .key_width = o.key_width, .init = o.init, .dtype = o.dtype}, rng);
}

}  // namespace

Classifier::Classifier(const ClassifierOptions& options) : Classifier(options, Rng(options.seed)) {}

Classifier::Classifier(const ClassifierOptions& o, Rng rng)
    : options_(o),
      embed({.rows = o.vocabulary, .width = o.width, .dtype = o.dtype}, rng),
      positions(make_positions(o)),
      attend(make_attention(o, rng)),
      drop1({.rate = o.dropout, .seed = rng.next()}),
      drop2({.rate = o.dropout, .seed = rng.next()}),
      dense1({.in = o.width, .out = o.hidden, .activation = "relu", .dtype = o.dtype}, rng),
      dense2({.in = o.hidden, .out = 1, .dtype = o.dtype}, rng) {}

Tensor Classifier::sheet(const Tensor& tokens) const {
  const Tensor sticks = embed(tokens);
  return positions ? (*positions)(sticks) : sticks;
}

Tensor Classifier::mask_of(const Tensor& tokens) const {
  return options_.mask ? named(not_equal(tokens, 0), "mask") : Tensor();
}

Tensor Classifier::forward(const Tensor& tokens) const {
  const Tensor mask = mask_of(tokens);
  Tensor x = sheet(tokens);
  if (attend) x = (*attend)(x, x, mask);
  x = mask.defined() ? collapse(x, mask) : collapse(x);
  x = dense1(drop1(x));
  x = dense2(drop2(x));
  return squeeze(x, -1);
}

Tensor Classifier::weights(const Tensor& tokens) const {
  if (!attend) fail("[weights] a bag has no attention, so no word listens to another");
  const Tensor x = sheet(tokens);
  return attend->weights(x, x, mask_of(tokens));
}

void Classifier::visit(nn::Visitor& v) {
  v("embed", embed);
  if (positions) v("positions", *positions);
  if (attend) v("attend", *attend);
  v("collapse", collapse);
  v("drop1", drop1);
  v("dense1", dense1);
  v("drop2", drop2);
  v("dense2", dense2);
}

}  // namespace pencil::imdb
