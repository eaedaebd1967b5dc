#include <cmath>

#include "autograd/autograd.hpp"
#include "nn/nn.hpp"
#include "tests/catch.hpp"

using namespace pencil;

namespace {

nn::MultiHeadAttention make(const nn::MultiHeadAttentionOptions& options, std::uint64_t seed = 3) {
  Rng rng{seed};
  return nn::MultiHeadAttention(options, rng);
}

double distance(const Tensor& a, const Tensor& b) {
  double most = 0;
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  REQUIRE(x.size() == y.size());
  for (std::size_t i = 0; i < x.size(); ++i) most = std::max(most, std::abs(x[i] - y[i]));
  return most;
}

}  // namespace

TEST_CASE("one bare head with the first document's grids gives its new stick") {
  auto layer = make({.width = 4, .heads = 1, .key_width = 4, .bias = false, .output = false, .dtype = f64});
  // WANT as the document draws it; HAVE and GIVE grids that make its sticks out of [2,1,1,0] and [0,1,2,1].
  layer.query.weight.assign(tensor({{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 0}}, f64));
  layer.key.weight.assign(tensor({{0, 1, 0, 2}, {0, 0, 0, 0}, {0, 0, 0, 2}, {0, 0, 0, 0}}, f64));
  layer.value.weight.assign(tensor({{1, 0, 0, 0}, {0, 0, 0, 3}, {0, 0, 0, 1}, {0.5, 0, 0, 0}}, f64));
  const Tensor sheet = tensor({{{2, 1, 1, 0}, {0, 1, 2, 1}}}, f64);
  CHECK(layer.key(sheet).to_vector() == std::vector<double>{1, 0, 0, 0, 3, 0, 2, 0});
  CHECK(layer.value(sheet).to_vector() == std::vector<double>{2, 0, 0, 1, 0, 3, 1, 0});
  const std::vector<double> stick = layer(sheet)[0][0].to_vector();
  const std::vector<double> exact = {0.0948517464, 2.8577223805, 0.9525741268, 0.0474258732};
  for (std::size_t i = 0; i < 4; ++i) CHECK(stick[i] == Approx(exact[i]).epsilon(1e-9));
  const std::vector<double> fractions = layer.weights(sheet, sheet)[0][0][0].to_vector();
  CHECK(fractions[0] == Approx(0.0474258732));
  CHECK(fractions[1] == Approx(0.9525741268));
}

TEST_CASE("several bare heads stand side by side") {
  const auto layer = make({.width = 6, .heads = 3, .key_width = 2, .value_width = 5, .output = false});
  CHECK(layer(ones({2, 4, 6})).shape() == Shape{2, 4, 15});
}

TEST_CASE("cross-attention takes its rows from one sheet and looks at another") {
  const auto layer = make({.width = 4, .heads = 2, .key_width = 3, .source_width = 5});
  const Tensor y = layer(ones({2, 3, 4}), ones({2, 7, 5}));
  CHECK(y.shape() == Shape{2, 3, 4});
  CHECK(layer.weights(ones({2, 3, 4}), ones({2, 7, 5})).shape() == Shape{2, 2, 3, 7});
}

TEST_CASE("a causal head never listens to what comes later, whether weights are asked for or not") {
  const auto layer = make({.width = 4, .heads = 2, .key_width = 4, .causal = true, .dtype = f64});
  Rng rng{1};
  const Tensor x = randn({1, 5, 4}, rng, f64);
  const Tensor weights = layer.weights(x, x);
  for (int head = 0; head < 2; ++head)
    for (int row = 0; row < 5; ++row)
      for (int column = row + 1; column < 5; ++column) CHECK(weights[0][head][row][column].item() == 0);
  // Changing the last word leaves all rows before it as they are, bit for bit.
  std::vector<double> changed = x.to_vector();
  for (std::size_t i = 16; i < 20; ++i) changed[i] += 1;
  const std::vector<double> before = layer(x).to_vector(),
                            after = layer(tensor(std::span<const double>(changed), {1, 5, 4})).to_vector();
  for (std::size_t i = 0; i < 16; ++i) CHECK(before[i] == after[i]);
}

TEST_CASE(
    "a sample that is all padding gives the output's bias and finite gradients, and leaves the others "
    "alone") {
  auto layer = make({.width = 4, .heads = 2, .key_width = 4, .dtype = f64});
  layer.output->bias.assign(tensor({1, 2, 3, 4}, f64));
  Rng rng{2};
  const Tensor x = randn({2, 3, 4}, rng, f64);
  const Tensor mask = tensor({{1, 1, 0}, {0, 0, 0}}, i32);
  Tape tape;
  const Tensor y = layer(x, x, mask);
  CHECK(y[1][0].to_vector() == std::vector<double>{1, 2, 3, 4});
  CHECK(distance(y[0], layer(x[0], x[0])) > 1e-3);  // the mask does something
  tape.backward(sum(square(y)));
  for (const Tensor& each : nn::parameters(layer))
    for (const double number : each.grad().to_vector()) CHECK(std::isfinite(number));
}

TEST_CASE("a masked key cannot leak, whatever it would give") {
  auto layer = make({.width = 2, .heads = 1, .key_width = 2, .dtype = f64});
  const Tensor mask = tensor({{1, 1, 0}}, i32);
  const Tensor plain = tensor({{{1, 2}, {3, 4}, {5, 6}}}, f64);
  const Tensor huge = tensor({{{1, 2}, {3, 4}, {1e30, -1e30}}}, f64);
  const Tensor a = layer(plain, plain, mask), b = layer(huge, huge, mask);
  for (int row = 0; row < 2; ++row) CHECK(a[0][row].to_vector() == b[0][row].to_vector());
}

TEST_CASE("swapping two words changes no pooled output without position marks, and does with them") {
  Rng rng{4};
  const nn::Embedding embed({.rows = 9, .width = 8, .limit = 1, .dtype = f64}, rng);
  const auto layer = make({.width = 8, .heads = 2, .key_width = 8, .dtype = f64});
  const nn::PositionalEncoding positions({.width = 8, .dtype = f64});
  const nn::GlobalAveragePooling1D collapse;
  const auto run = [&](const Tensor& tokens, bool marked) {
    const Tensor sheet = marked ? positions(embed(tokens)) : embed(tokens);
    return collapse(layer(sheet));
  };
  const Tensor one = tensor({{1, 2, 3, 4}}, i32), other = tensor({{1, 3, 2, 4}}, i32);
  CHECK(distance(run(one, false), run(other, false)) < 1e-12);
  CHECK(distance(run(one, true), run(other, true)) > 1e-6);
}

TEST_CASE("attention says what is wrong with its options") {
  Rng rng{1};
  CHECK_THROWS_WITH(nn::MultiHeadAttention({.width = 4, .heads = 0, .key_width = 4}, rng), Says(".heads 0"));
  CHECK_THROWS_AS(make({.width = 4, .heads = 1, .key_width = 4})(ones({1, 2, 5})), Error);
}
