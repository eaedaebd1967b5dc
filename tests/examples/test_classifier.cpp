#include <algorithm>
#include <cmath>

#include "autograd/autograd.hpp"
#include "examples/imdb/classifier.hpp"
#include "nn/nn.hpp"
#include "optim/optim.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using imdb::Classifier;

namespace {

// One golden file: a small classifier with its data, gradients, and 20 steps of Adam in both forms.
struct Golden {
  explicit Golden(const std::string& name) : file(load_safetensors(tests::golden(name))) {}

  std::int64_t number(const char* key) const { return std::stoll(file.metadata.at(key)); }
  bool flag(const char* key) const { return file.metadata.at(key) == "True"; }

  Classifier model(DType dtype) const {
    Classifier made({.vocabulary = number("vocab"),
                     .width = number("width"),
                     .heads = number("heads"),
                     .key_width = number("key_dim"),
                     .hidden = number("hidden"),
                     .dropout = 0,
                     .positions = flag("positions"),
                     .mask = flag("mask"),
                     .dtype = dtype});
    std::vector<nn::NamedTensor> start;
    for (const auto& [name, tensor] : file.tensors)
      if (name.starts_with("init.")) start.push_back({name.substr(5), tensor});
    nn::load_state(made, start);
    return made;
  }

  Tensor slots() const { return file.at("slots"); }
  Tensor ticks(DType dtype) const { return file.at("ticks").to(dtype); }

  TensorFile file;
};

// Compares number by number: within `relative` of the expected tensor's largest value.
void check_close(const std::string& what, const Tensor& got, const Tensor& expected, double relative,
                 double absolute = 0) {
  INFO(what);
  REQUIRE(got.shape() == expected.shape());
  const std::vector<double> a = got.to_vector(), b = expected.to_vector();
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(b[i]));
    worst = std::isfinite(a[i]) ? std::max(worst, std::abs(a[i] - b[i])) : HUGE_VAL;
  }
  CAPTURE(worst, largest);
  CHECK(worst <= std::max(relative * largest, absolute));
}

void check_file(const std::string& name) {
  const Golden golden(name);
  for (const DType dtype : {f64, f32}) {
    INFO(name << " in " << name_of(dtype));
    const double close = dtype == f64 ? 1e-10 : 1e-5;
    Classifier model = golden.model(dtype);
    Tape tape;
    const Tensor logit = model(golden.slots());
    const Tensor loss = binary_cross_entropy_with_logits(logit, golden.ticks(dtype));
    check_close("logit", logit, golden.file.at("logit"), close);
    check_close("loss", loss, golden.file.at("loss"), close);
    check_close("probability", sigmoid(logit), golden.file.at("probability"), close);
    check_close("weights", model.weights(golden.slots()), golden.file.at("weights"), close);
    tape.backward(loss);
    for (const auto& [path, parameter] : nn::named_parameters(model))
      check_close(path, parameter.grad(), golden.file.at("grad." + path), close,
                  path == "attend.key.bias" ? (dtype == f64 ? 1e-14 : 1e-7) : 0);
  }
}

void check_adam(const std::string& name, const std::string& which, optim::AdamForm form) {
  const Golden golden(name);
  for (const DType dtype : {f64, f32}) {
    INFO(name << ", " << which << " in " << name_of(dtype));
    Classifier model = golden.model(dtype);
    optim::Adam adam{nn::parameters(model), {.learning_rate = 1e-2, .epsilon = 1e-7, .form = form}};
    const std::vector<double> losses = golden.file.at(which + "_losses").to_vector();
    for (const double expected : losses) {
      Tape tape({.keep = Keep::leaves});
      const Tensor loss = binary_cross_entropy_with_logits(model(golden.slots()), golden.ticks(dtype));
      CHECK(loss.item() == Approx(expected).epsilon(dtype == f64 ? 1e-9 : 1e-4));
      tape.backward(loss);
      adam.step();
    }
    for (const auto& [path, parameter] : nn::named_parameters(model)) {
      // The true gradient of the keys' bias is 0; Adam moves it by rounding noise alone.
      if (path == "attend.key.bias") continue;
      const Tensor expected = golden.file.at(which + "." + path);
      check_close(path, parameter, expected, dtype == f64 ? 1e-9 : 1e-4);
    }
  }
}

}  // namespace

TEST_CASE("golden: the classifier's outputs, weights and gradients") {
  for (const char* name : {"classifier_plain", "classifier_masked", "classifier_positions"})
    check_file(std::string(name) + ".safetensors");
}

TEST_CASE("golden: twenty steps of Adam in both forms") {
  for (const char* name : {"classifier_plain", "classifier_masked", "classifier_positions"}) {
    check_adam(std::string(name) + ".safetensors", "adam_hat", optim::AdamForm::keras);
    check_adam(std::string(name) + ".safetensors", "adam_paper", optim::AdamForm::paper);
  }
}

TEST_CASE("the documents' model has 329,097 parameters under the documented names") {
  Classifier model({});
  CHECK(nn::parameter_count(model) == 329097);
  std::vector<std::string> names;
  for (const auto& each : nn::named_parameters(model)) names.push_back(each.name);
  CHECK(names == std::vector<std::string>{"embed.weight", "attend.query.weight", "attend.query.bias",
                                          "attend.key.weight", "attend.key.bias", "attend.value.weight",
                                          "attend.value.bias", "attend.output.weight", "attend.output.bias",
                                          "dense1.weight", "dense1.bias", "dense2.weight", "dense2.bias"});
  const std::string text = nn::summary(model, {64, 100});
  CHECK_THAT(text, Says("embed (Embedding)                  (64, 100, 32)     320,000"));
  CHECK_THAT(text, Says("8,416"));
  CHECK_THAT(text, Says("Total: 329,097 parameters (1.26 MB)"));
}

TEST_CASE("an inner tensor's gradient, Detail::steps and a recorded sweep agree with the fused backward") {
  const Golden golden("classifier_masked.safetensors");
  const auto gradients = [&](TapeOptions options) {
    Classifier model = golden.model(f64);
    Tape tape(options);
    tape.backward(binary_cross_entropy_with_logits(model(golden.slots()), golden.ticks(f64)));
    std::vector<Tensor> all;
    for (const Tensor& each : nn::parameters(model)) all.push_back(each.grad());
    return all;
  };
  const std::vector<Tensor> fused = gradients({});
  const std::vector<Tensor> steps = gradients({.detail = Detail::steps});
  const std::vector<Tensor> leaves = gradients({.keep = Keep::leaves});
  for (std::size_t i = 0; i < fused.size(); ++i) {
    check_close("steps", steps[i], fused[i], 1e-12, 1e-15);
    CHECK(leaves[i].to_vector() == fused[i].to_vector());
  }
}

TEST_CASE("swapping two words changes no logit without position marks, and does with them") {
  for (const bool positions : {false, true}) {
    Classifier model({.vocabulary = 50, .width = 8, .key_width = 8, .positions = positions, .dtype = f64});
    const double one = model(tensor({{4, 7, 9, 0}}, i32)).item(),
                 other = model(tensor({{4, 9, 7, 0}}, i32)).item();
    CHECK((std::abs(one - other) < 1e-12) == !positions);
  }
}

TEST_CASE("a bag has no attention to ask about") {
  Classifier bag({.arch = imdb::Arch::bag, .vocabulary = 50});
  CHECK(nn::parameter_count(bag) == 50 * 32 + 660 + 21);
  CHECK_THROWS_WITH(bag.weights(tensor({{1, 2}}, i32)), Says("a bag has no attention"));
}
