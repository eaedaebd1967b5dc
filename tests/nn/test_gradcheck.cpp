// The gradients of whole models.

#include "nn/gradcheck.hpp"

#include "autograd/autograd.hpp"
#include "nn/nn.hpp"
#include "tests/catch.hpp"

using namespace pencil;

namespace {

struct Reader : nn::Module {
  explicit Reader(Rng& rng, DType dtype = f64)
      : embed({.rows = 6, .width = 4, .dtype = dtype}, rng),
        attend({.width = 4, .heads = 2, .key_width = 3, .dtype = dtype}, rng),
        normal({.width = 4, .dtype = dtype}),
        dense({.in = 4, .out = 1, .activation = "tanh", .dtype = dtype}, rng) {}
  Tensor forward(const Tensor& tokens) const override {
    return dense(collapse(normal(attend(embed(tokens)))));
  }
  void visit(nn::Visitor& v) override {
    v("embed", embed);
    v("attend", attend);
    v("normal", normal);
    v("dense", dense);
  }
  nn::Embedding embed;
  nn::MultiHeadAttention attend;
  nn::LayerNorm normal;
  nn::GlobalAveragePooling1D collapse;
  nn::Dense dense;
};

// y = x w, twice; with a rule for w that is wrong by `off`
struct Twice : nn::Module {
  explicit Twice(double off) : weight(parameter(tensor({1, 2}, f64), "weight")) {
    static double factor;
    factor = off;
    multiply =
        Op("multiply", {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * in[1]); },
                        .rule =
                            [](const Step& s, const Tensor& dy, Needs) {
                              return Gradients{dy * s.input(1), dy * s.input(0) * factor};
                            }});
  }
  Tensor forward(const Tensor& x) const override {
    return apply(*multiply, {apply(*multiply, {x, weight}), again});
  }
  void visit(nn::Visitor& v) override {
    v("weight", weight);
    v("again", again);
  }
  std::optional<Op> multiply;
  Tensor weight, again = weight;  // one parameter in two places
};

}  // namespace

TEST_CASE("the gradients of a whole model agree with differences, and so do theirs") {
  Rng rng{3};
  Reader model(rng);
  const Tensor tokens = tensor({{1, 2, 3}, {0, 5, 5}}, i32);
  std::vector<Tensor> before;
  for (const Tensor& each : nn::parameters(model)) before.push_back(copy(each));
  const GradcheckReport report = nn::gradcheck(model, tokens);
  CHECK(report.numbers == nn::parameter_count(model));
  CHECK(report.kinks.empty());
  const std::vector<Tensor> after = nn::parameters(model);
  for (std::size_t i = 0; i < after.size(); ++i) {
    CHECK(after[i].is_parameter());
    CHECK(after[i].version() == 0);
    CHECK_FALSE(after[i].has_grad());
    CHECK(after[i].to_vector() == before[i].to_vector());
  }
  CHECK_NOTHROW(nn::gradgradcheck(model, tokens));
}

TEST_CASE("the input of a model is checked where it has a derivative, and a parameter of two places is one") {
  Twice model(1);
  const Tensor x = tensor({3, 5}, f64);
  CHECK(nn::gradcheck(model, x).numbers == 4);
  CHECK(same(model.weight, model.again));
  Twice wrong(1.001);
  CHECK_THROWS_WITH(nn::gradcheck(wrong, x),
                    Says("[gradcheck] Module, parameter 'weight' of shape (2), element [0]"));
  CHECK(wrong.weight.is_parameter());
}

TEST_CASE("a model of f32 is refused by the name of its first parameter") {
  Rng rng{3};
  Reader model(rng, f32);
  CHECK_THROWS_WITH(
      nn::gradcheck(model, tensor({{1, 2}}, i32)),
      "[gradcheck] parameter 'embed.weight' of Module is f32; central differences need f64: make the "
      "layers with .dtype = f64");
}
