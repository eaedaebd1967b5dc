// What must not be silently accepted, and what a later write must not reach.
#include "autograd/autograd.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

Op identity() {
  return {"identity",
          {.forward = [](Inputs in, const Attributes&) { return Computed(in[0]); },
           .rule = [](const Step&, const Tensor& dy, Needs) { return Gradients{dy}; }}};
}

}  // namespace

TEST_CASE("sizes whose bytes overflow throw before anything is allocated") {
  for (const int power : {50, 60, 61, 62})
    for (const DType dtype : {f32, f64, i32})
      CHECK_THROWS_WITH(empty({std::int64_t{1} << power}, dtype), Says("no memory holds it"));
  CHECK_THROWS_WITH(broadcast_to(tensor(1), {std::int64_t{1} << 62}), Says("no memory holds it"));
  CHECK(empty({std::int64_t{1} << 62, 0}).size() == 0);
}

TEST_CASE("arange stays below its end where the quotient is rounded up") {
  CHECK(numbers(arange(1, 1.3, 0.1, f64)) == Numbers{1, 1.1, 1.2});
  CHECK(numbers(arange(-1, -1.3, -0.1, f64)) == Numbers{-1, -1.1, -1.2});
  CHECK(numbers(arange(0, 0.3, 0.1, f64)).size() == 3);
  CHECK(numbers(arange(5, 0, -2)) == Numbers{5, 3, 1});
}

TEST_CASE("uniform numbers stay below the upper end in their dtype") {
  Rng rng(1);
  const float high = std::nextafter(1.0F, 2.0F);  // two floats, and every second number would be rounded up
  for (const double x : numbers(uniform({1000}, 1, high, rng))) CHECK(x == 1);
  CHECK(numbers(uniform({2}, 3, 3, rng)) == Numbers{3, 3});
  CHECK_THROWS_WITH(uniform({2}, 3, 1, rng), Says("[uniform] from 3 to 1"));
  CHECK_THROWS_WITH(uniform({2}, 0, no_number, rng), Says("[uniform]"));
  CHECK_THROWS_WITH(uniform({2}, 0, infinity, rng), Says("[uniform]"));
}

TEST_CASE("to_vector refuses what a whole number does not hold") {
  CHECK(tensor({-3.7, 2.9}).to_vector<std::int32_t>() == std::vector<std::int32_t>{-3, 2});
  CHECK(tensor({-2147483648.9}, f64).to_vector<std::int32_t>()[0] ==
        std::numeric_limits<std::int32_t>::min());
  CHECK(tensor(0x1p40).to_vector<std::int64_t>()[0] == std::int64_t{1} << 40);
  CHECK_THROWS_WITH(tensor({1, no_number}).to_vector<std::int32_t>(),
                    Says("number 1 of the tensor of shape (2) is nan"));
  CHECK_THROWS_WITH(tensor(0x1p31).to_vector<std::int32_t>(), Says("does not hold"));
  CHECK_THROWS_WITH(tensor(0x1p63).to_vector<std::int64_t>(), Says("does not hold"));
}

TEST_CASE("slices and splits with sizes near the end of their type") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(numbers(slice(arange(5), 0, 0, 5, most)) == Numbers{0});
  CHECK(numbers(slice(arange(5), 0, 1, 5, 2)) == Numbers{1, 3});
  CHECK(slice(arange(5), 0, 5, 5, most).size() == 0);
  CHECK_THROWS_WITH(split(arange(5), {most, most, 7}, 0), Says("[split]"));
}

TEST_CASE("settings that make every number NaN are refused") {
  const Tensor x = ones({1, 2, 2});
  CHECK_THROWS_WITH(layer_norm(x, ones({2}), zeros({2}), -1), Says("epsilon is -1"));
  CHECK_THROWS_WITH(layer_norm(x, ones({2}), zeros({2}), no_number), Says("epsilon is nan"));
  CHECK_THROWS_WITH(attention(x, x, x, {.scale = no_number}), Says("the scale is nan"));
  CHECK_THROWS_WITH(attention_weights(x, x, {.scale = infinity}), Says("the scale is inf"));
  CHECK_THROWS_WITH(var(x, 0, false, no_number), Says("[var]"));
}

TEST_CASE("an op whose forward hands back a parameter gives a value of its own") {
  Tensor w = parameter(tensor({1, 2}));
  const Tensor y = apply(identity(), {w});
  CHECK_FALSE(y.is_parameter());
  w.assign(tensor({5, 6}));
  CHECK(numbers(y) == Numbers{1, 2});
}

TEST_CASE("a parameter given as a gradient is read once") {
  Tensor w = parameter(tensor({1, 2})), v = parameter(tensor({7, 8}));
  {
    Tape tape;
    const Tensor y = apply(identity(), {w});
    tape.backward(y, {.upstream = v});
    v.assign(zeros({2}));
    CHECK(numbers(tape.grad(y)) == Numbers{7, 8});
    CHECK(numbers(w.grad()) == Numbers{7, 8});
  }
  w.clear_grad();
  w.add_grad(w);
  w.assign(zeros({2}));
  CHECK(numbers(w.grad()) == Numbers{1, 2});
}

TEST_CASE("a backward that throws leaves the tape as it was, unless it frees") {
  static bool broken;
  const Op op{"moody",
              {.forward = [](Inputs in, const Attributes&) { return exp(in[0]); },
               .rule =
                   [](const Step& s, const Tensor& dy, Needs) {
                     if (broken) fail("[moody] not now");
                     return Gradients{dy * s.output()};
                   }}};
  const auto run = [&](Keep keep) {
    const Tensor w = parameter(tensor(0));
    Tape tape{{.keep = keep}};
    const Tensor y = square(apply(op, {w}));
    const std::string before = dump(tape);
    broken = true;
    CHECK_THROWS_WITH(tape.backward(y), Says("not now"));
    CHECK_FALSE(w.has_grad());
    broken = false;
    if (keep == Keep::leaves) {
      CHECK_THROWS_WITH(tape.backward(y), Says("has run backward already"));
      return;
    }
    CHECK(dump(tape) == before);
    tape.backward(y);
    CHECK(w.grad().item() == 2);
  };
  run(Keep::all);
  run(Keep::leaves);
}

TEST_CASE("composed parts that give nothing, or another shape than forward, are refused") {
  const auto made = [](std::function<Tensor(Inputs, const Attributes&)> composed) {
    return Op{"odd",
              {.forward = [](Inputs in, const Attributes&) { return exp(in[0]); },
               .rule = [](const Step& s, const Tensor& dy, Needs) { return Gradients{dy * s.output()}; },
               .composed = std::move(composed)}};
  };
  const Op none = made([](Inputs, const Attributes&) { return Tensor(); });
  const Op other = made([](Inputs in, const Attributes&) { return exp(sum(in[0])); });
  const Tensor x = parameter(tensor({1, 2}));
  {
    Tape tape{{.detail = Detail::steps}};
    CHECK_THROWS_WITH(apply(none, {x}), Says("[odd] composed gave back no tensor"));
  }
  for (const auto& [op, text] :
       {std::pair(none, "composed gave back no tensor"),
        std::pair(other, "composed gives () of f32 where forward gave (2) of f32")}) {
    Tape tape;
    const Tensor y = apply(op, {x});
    CHECK_THROWS_WITH(tape.gradient(y, {x}, {.upstream = ones({2}), .record = true}), Says(text));
  }
}

TEST_CASE("an undefined tensor that forward saved is named as such") {
  const Op op{"forgetful",
              {.forward = [](Inputs in, const Attributes&) { return Computed(exp(in[0]), {Tensor()}); },
               .rule = [](const Step& s, const Tensor& dy, Needs) { return Gradients{dy * s.saved(0)}; }}};
  const Tensor x = parameter(tensor(1));
  Tape tape;
  const Tensor y = apply(op, {x});
  CHECK_THROWS_WITH(tape.backward(y), Says("undefined tensor to be saved as number 0"));
}
