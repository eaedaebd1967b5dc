#include <cmath>
#include <set>

#include "autograd/autograd.hpp"
#include "nn/nn.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"

using namespace pencil;

namespace {

double largest(const Tensor& x) {
  double most = 0;
  for (const double each : x.to_vector()) most = std::max(most, std::abs(each));
  return most;
}

}  // namespace

TEST_CASE("attention's start follows Keras's fans, the newer and the older rule") {
  const auto limit = [](nn::Fans fans) { return std::sqrt(6.0 / static_cast<double>(fans.in + fans.out)); };
  CHECK(limit(nn::projection_fans(32, 2, 32, nn::Init::keras)) == Approx(0.25));
  CHECK(limit(nn::output_fans(2, 32, 32, nn::Init::keras)) == Approx(0.25));
  CHECK(limit(nn::projection_fans(32, 2, 32, nn::Init::keras_legacy)) == Approx(0.0742611));
  CHECK(limit(nn::output_fans(2, 32, 32, nn::Init::keras_legacy)) == Approx(0.2165064));

  Rng rng{3};
  nn::MultiHeadAttention layer({.width = 32, .heads = 2, .key_width = 32, .init = nn::Init::keras_legacy},
                               rng);
  CHECK(largest(layer.query.weight) <= 0.0742612);
  CHECK(largest(layer.query.weight) > 0.07);
  CHECK(largest(layer.output->weight) <= 0.2165064);
  CHECK(largest(layer.output->weight) > 0.2);
  CHECK(largest(layer.query.bias) == 0);
}

TEST_CASE("query, key and value start differently, and the same seed starts the same") {
  Rng rng{7}, again{7};
  nn::MultiHeadAttention a({.width = 4, .heads = 1, .key_width = 4}, rng);
  nn::MultiHeadAttention b({.width = 4, .heads = 1, .key_width = 4}, again);
  CHECK(a.query.weight.to_vector() != a.key.weight.to_vector());
  CHECK(a.key.weight.to_vector() != a.value.weight.to_vector());
  CHECK(a.query.weight.to_vector() == b.query.weight.to_vector());
}

TEST_CASE("embedding starts within its limit, row 0 too, unless it is padding") {
  Rng rng{1};
  nn::Embedding plain({.rows = 20, .width = 8}, rng);
  CHECK(largest(plain.weight) <= 0.05);
  CHECK(largest(plain.weight[0]) > 0);
  nn::Embedding padded({.rows = 20, .width = 8, .padding = 0}, rng);
  CHECK(largest(padded.weight[0]) == 0);
  Tape tape;
  tape.backward(sum(padded(tensor({{0, 3, 0}}, i32))));
  CHECK(largest(padded.weight.grad()[0]) == 0);
  CHECK(largest(padded.weight.grad()[3]) == 1);
  CHECK_THROWS_WITH(nn::Embedding({.rows = 5, .width = 2, .padding = 5}, rng), Says("need a row 0 … 4"));
}

TEST_CASE("a token number out of range names its place and the range") {
  Rng rng{1};
  nn::Embedding embed({.rows = 5, .width = 2}, rng);
  CHECK_THROWS_WITH(embed(tensor({{1, 5}}, i32)), Says("5"));
  CHECK_THROWS_AS(embed(tensor({{-1, 2}}, i32)), Error);
}

TEST_CASE("dense applies its activation, by name or as a function") {
  Rng rng{1};
  nn::Dense named_layer({.in = 2, .out = 2, .activation = "relu"}, rng);
  nn::Dense plain({.in = 2, .out = 2}, rng);
  plain.weight.assign(named_layer.weight);
  nn::Dense function({.in = 2, .out = 2, .activation = [](const Tensor& x) { return square(x); }}, rng);
  function.weight.assign(plain.weight);
  const Tensor x = tensor({{1, -2}, {-3, 1}});
  CHECK(named_layer(x).to_vector() == relu(plain(x)).to_vector());
  CHECK(function(x).to_vector() == square(plain(x)).to_vector());
  CHECK_THROWS_WITH(nn::Activation("rleu"), Says("there is no 'rleu'; known are relu"));
  CHECK_THROWS_WITH(plain(ones({2, 3})), Says("its last axis must be 2"));
}

TEST_CASE("dropout scales what it keeps, drops all at rate 1, and is the identity at the exam") {
  nn::Dropout half({.rate = 0.5, .seed = 4});
  const Tensor x = ones({1000});
  CHECK(same(half(x), x));
  half.train();
  const std::vector<double> first = half(x).to_vector(), second = half(x).to_vector();
  CHECK(first != second);
  CHECK(std::set<double>(first.begin(), first.end()) == std::set<double>{0, 2});
  nn::Dropout twin({.rate = 0.5, .seed = 4});
  twin.train();
  CHECK(twin(x).to_vector() == first);
  nn::Dropout none({.rate = 0}), all({.rate = 1});
  none.train();
  all.train();
  CHECK(none(x).to_vector() == x.to_vector());
  CHECK(largest(all(x)) == 0);
  CHECK_THROWS_WITH(nn::Dropout({.rate = 1.5}), Says(".rate is 1.5; need 0 … 1"));
}

TEST_CASE("golden: position marks are the formula's waves, counted from 0") {
  const TensorFile file = load_safetensors(tests::golden("position_marks.safetensors"));
  for (const auto& [name, expected] : file.tensors) {
    INFO(name);
    nn::PositionalEncoding layer({.width = expected.size(1), .dtype = f64});
    const std::vector<double> marks = layer.marks(expected.size(0)).to_vector(),
                              wanted = expected.to_vector();
    for (std::size_t i = 0; i < wanted.size(); ++i) REQUIRE(marks[i] == Approx(wanted[i]).margin(1e-12));
  }
}

TEST_CASE("position marks counted from 1 give the first document's first slot") {
  nn::PositionalEncoding layer({.width = 4, .first = 1, .dtype = f64});
  const Tensor sheet = layer(tensor({{{2, 1, 1, 0}, {0, 1, 2, 1}}}, f64));
  const std::vector<double> expected = {2.841471, 1.540302, 1.0099998, 0.99995,
                                        0.909297, 0.583853, 2.0199987, 1.9998};
  const std::vector<double> got = sheet.to_vector();
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(got[i] == Approx(expected[i]).epsilon(1e-6));
}

TEST_CASE("pooling with a mask counts its rows only, and nothing at all gives zeros and no NaN") {
  const Tensor x = parameter(tensor({{{1, 2}, {3, 5}, {9, 9}}, {{1, 1}, {1, 1}, {1, 1}}}, f64), "x");
  const Tensor mask = tensor({{1, 1, 0}, {0, 0, 0}}, i32);
  const nn::GlobalAveragePooling1D average;
  const nn::GlobalMaxPooling1D most;
  Tape tape;
  const Tensor a = average(x, mask);
  const Tensor m = most(x, mask);
  CHECK(a.to_vector() == std::vector<double>{2, 3.5, 0, 0});
  CHECK(m.to_vector() == std::vector<double>{3, 5, 0, 0});
  tape.backward(sum(a + m));
  CHECK(x.grad().to_vector() == std::vector<double>{0.5, 0.5, 1.5, 1.5, 0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(average(x).to_vector()[0] == Approx(13.0 / 3));
  CHECK(most(x).to_vector()[0] == 9);
  CHECK_THROWS_WITH(average(ones({2, 3})), Says("need (batch, length, width)"));
}

TEST_CASE("layer norm centres and scales the last axis") {
  nn::LayerNorm norm({.width = 4, .dtype = f64});
  const std::vector<double> y = norm(tensor({{1, 2, 3, 4}}, f64)).to_vector();
  CHECK(y[0] == Approx(-1.3416354));
  CHECK(y[3] == Approx(1.3416354));
}
