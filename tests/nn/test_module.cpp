#include <algorithm>

#include "autograd/autograd.hpp"
#include "nn/nn.hpp"
#include "tests/catch.hpp"

using namespace pencil;

namespace {

// A user's model: two dense layers, one of them inside a block.
struct Block : nn::Module {
  explicit Block(Rng& rng) : inner({.in = 3, .out = 2}, rng) {}
  Tensor forward(const Tensor& x) const override { return tanh(inner(x)); }
  void visit(nn::Visitor& v) override { v("inner", inner); }
  nn::Dense inner;
};

struct Model : nn::Module {
  explicit Model(Rng& rng) : block(rng), head({.in = 2, .out = 1, .bias = false}, rng) {}
  Tensor forward(const Tensor& x) const override { return head(block(x)); }
  void visit(nn::Visitor& v) override {
    v("block", block);
    v("head", head);
  }
  Block block;
  nn::Dense head;
};

std::vector<std::string> names(nn::Module& module) {
  std::vector<std::string> all;
  for (const auto& each : nn::named_parameters(module)) all.push_back(each.name);
  return all;
}

}  // namespace

TEST_CASE("visit names parameters by their paths, in order") {
  Rng rng{1};
  Model model(rng);
  CHECK(names(model) == std::vector<std::string>{"block.inner.weight", "block.inner.bias", "head.weight"});
  CHECK(nn::parameters(model)[0].name() == "block.inner.weight");
  CHECK(nn::parameter_count(model) == 3 * 2 + 2 + 2);
  CHECK(model.block.inner.path() == "block.inner");
}

TEST_CASE("steps carry the path of their module and the user's line") {
  Rng rng{1};
  Model model(rng);
  (void)nn::parameters(model);
  Tape tape;
  const auto line = std::source_location::current().line() + 1;
  const Tensor y = model(ones({4, 3}));
  const Step linear = tape.step(tape.step(tape.step_of(y)).input_step(0));
  CHECK(tape.step(tape.step_of(y)).path() == "head");
  CHECK(linear.word() == "tanh");
  CHECK(linear.path() == "block");
  CHECK(tape.step(linear.input_step(0)).path() == "block.inner");
  CHECK(linear.called().line() == line);
  CHECK(std::string_view(linear.where().file_name()).ends_with("test_module.cpp"));
}

TEST_CASE("modules start in evaluation mode and train() reaches every child") {
  Rng rng{1};
  nn::Sequential model(nn::Dense({.in = 2, .out = 2}, rng), nn::Dropout({.rate = 1.0}));
  const Tensor x = ones({3, 2});
  CHECK_FALSE(model.training());
  CHECK(model(x).to_vector() != std::vector<double>(6, 0));
  model.train();
  CHECK(model.training());
  CHECK(model(x).to_vector() == std::vector<double>(6, 0));
  model.eval();
  CHECK(model(x).to_vector() != std::vector<double>(6, 0));
}

TEST_CASE("a child named twice, without a name or with a dot is refused") {
  struct Bad : nn::Module {
    Bad(std::string first, std::string second, Rng& rng)
        : a({.in = 1, .out = 1}, rng),
          b({.in = 1, .out = 1}, rng),
          one(std::move(first)),
          two(std::move(second)) {}
    Tensor forward(const Tensor& x) const override { return x; }
    void visit(nn::Visitor& v) override {
      v(one, a);
      v(two, b);
    }
    nn::Dense a, b;
    std::string one, two;
  };
  Rng rng{1};
  Bad twice("a", "a", rng), empty("", "b", rng), dotted("a.b", "c", rng);
  CHECK_THROWS_WITH(nn::parameters(twice), Says("'a' names two children"));
  CHECK_THROWS_WITH(nn::parameters(empty), Says("need a name without dots"));
  CHECK_THROWS_WITH(nn::parameters(dotted), Says("need a name without dots"));
}

TEST_CASE("a parameter that was never made is refused where it is visited") {
  struct Bad : nn::Module {
    Tensor forward(const Tensor& x) const override { return x; }
    void visit(nn::Visitor& v) override { v("weight", weight); }
    Tensor weight = ones({2});
  } bad;
  CHECK_THROWS_WITH(nn::parameters(bad), Says("'weight' is not a parameter"));
}

TEST_CASE("a parameter shared by two layers is one parameter under its first path") {
  Rng rng{1};
  Model model(rng);
  struct Tied : nn::Module {
    explicit Tied(Rng& r)
        : a({.in = 2, .out = 2, .bias = false}, r), b({.in = 2, .out = 2, .bias = false}, r) {
      b.weight = a.weight;
    }
    Tensor forward(const Tensor& x) const override { return b(a(x)); }
    void visit(nn::Visitor& v) override {
      v("a", a);
      v("b", b);
    }
    nn::Dense a, b;
  } tied(rng);
  CHECK(names(tied) == std::vector<std::string>{"a.weight"});
}

TEST_CASE("a walk over a part of a model leaves the whole model's names and paths") {
  Rng rng{1};
  Model model(rng);
  const std::vector<Tensor> all = nn::parameters(model);
  nn::freeze(model.block, false);
  model.block.train();
  (void)nn::parameter_count(model.head);
  (void)nn::summary(model.block, {1, 3}, f32);
  CHECK(all[0].name() == "block.inner.weight");
  CHECK(all[2].name() == "head.weight");
  CHECK(model.block.path() == "block");
  CHECK(model.block.inner.path() == "block.inner");
  CHECK(names(model.block) == std::vector<std::string>{"inner.weight", "inner.bias"});  // from the part on
  nn::load_state(model.block, nn::state(model.block));
  CHECK_THAT(nn::summary(model.block, {1, 3}, f32), Says("inner (Dense)  (1, 2)"));
}

TEST_CASE("clone copies the mode of each module") {
  Rng rng{1};
  const auto make = [&] {
    return nn::Sequential(nn::Dropout({.rate = 1}), nn::Dense({.in = 1, .out = 1}, rng));
  };
  nn::Sequential model = make();
  nn::Sequential outer;
  outer.add("half", std::move(model));
  struct First : nn::Visitor {
    void module(const std::string& path, nn::Module& child) override {
      if (path == "half.0") child.train();
    }
  } first;
  first.walk(outer);
  nn::Sequential twin = nn::clone(outer, [&] {
    nn::Sequential fresh;
    fresh.add("half", make());
    return fresh;
  });
  struct Modes : nn::Visitor {
    void module(const std::string& path, nn::Module& child) override {
      if (child.training()) training.push_back(path);
    }
    std::vector<std::string> training;
  } modes;
  modes.walk(twin);
  CHECK_FALSE(twin.training());
  CHECK(modes.training == std::vector<std::string>{"half.0"});
}

TEST_CASE("clone copies values, mode and frozen flags, and shares nothing") {
  Rng rng{5};
  nn::Dense layer({.in = 3, .out = 2, .activation = "relu"}, rng);
  layer.train();
  nn::freeze(layer);
  nn::Dense copied = nn::clone(layer);
  CHECK(copied.weight.to_vector() == layer.weight.to_vector());
  CHECK(copied.training());
  CHECK(copied.weight.frozen());
  layer.weight.assign(zeros({2, 3}));
  CHECK(copied.weight.to_vector() != layer.weight.to_vector());

  Model model(rng);
  Model twin = nn::clone(model, [] {
    Rng other{99};
    return Model(other);
  });
  const Tensor x = randn({4, 3}, rng);
  CHECK(twin(x).to_vector() == model(x).to_vector());
}

TEST_CASE("frozen parameters get no gradient, and get one again when thawed") {
  Rng rng{1};
  Model model(rng);
  nn::freeze(model.block);
  {
    Tape tape;
    tape.backward(sum(model(ones({2, 3}))));
  }
  CHECK_FALSE(model.block.inner.weight.has_grad());
  CHECK(model.head.weight.has_grad());
  nn::freeze(model.block, false);
  {
    Tape tape;
    tape.backward(sum(model(ones({2, 3}))));
  }
  CHECK(model.block.inner.weight.has_grad());
}

TEST_CASE("load_state lists everything that does not fit and then writes nothing") {
  Rng rng{1};
  Model model(rng);
  const auto before = nn::state(model);
  std::vector<nn::NamedTensor> tensors = {
      {"block.inner.weight", zeros({2, 3})}, {"head.weight", zeros({1, 7})}, {"tail.weight", zeros({1})}};
  CHECK_THROWS_WITH(nn::load_state(model, tensors), Says("missing: block.inner.bias (2)"));
  CHECK_THROWS_WITH(nn::load_state(model, tensors),
                    Says("misshapen: head.weight is (1, 7) of f32, the model needs (1, 2)"));
  CHECK_THROWS_WITH(nn::load_state(model, tensors), Says("unexpected: tail.weight (1)"));
  const auto after = nn::state(model);
  for (std::size_t i = 0; i < before.size(); ++i)
    CHECK(before[i].tensor.to_vector() == after[i].tensor.to_vector());
}

TEST_CASE("summary counts parameters and shows output shapes") {
  Rng rng{1};
  Model model(rng);
  const std::string text = nn::summary(model, {4, 3}, f32);
  CHECK_THAT(text, Says("block (Module)"));
  CHECK_THAT(text, Says("head (Dense)"));
  CHECK_THAT(text, Says("(4, 1)"));
  CHECK_THAT(text, Says("Total: 10 parameters (0.04 KB)"));
  CHECK(Tape::current() == nullptr);
}
