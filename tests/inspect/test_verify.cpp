#include <algorithm>
#include <atomic>
#include <set>

#include "tests/catch.hpp"
#include "tests/inspect/random_graph.hpp"
#include "tests/inspect/support.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;
using Part = Verification::Part;
using Reason = Verification::Reason;

namespace {

int count(const Verification& v, Part part, Reason reason) {
  return static_cast<int>(std::ranges::count_if(
      v.unchecked, [&](const auto& each) { return each.part == part && each.reason == reason; }));
}

// y = x²        dx = 2 x dy · off
Tensor nearly_square(const Tensor& x, double off) {
  static double factor;
  factor = off;
  static const Op op{"nearly",
                     {.forward = [](Inputs in, const Attributes&) { return Computed(square(in[0])); },
                      .rule = [](const Step& s, const Tensor& dy,
                                 Needs) { return Gradients{dy * s.input(0) * 2 * factor}; }}};
  return apply(op, {x});
}

// Turns over the last bit of a number, behind everybody's back.
void flip(const Tensor& x, std::size_t at) {
  auto* bytes = static_cast<unsigned char*>(detail::Body::of(x)->storage->data);
  bytes[at * static_cast<std::size_t>(x.dtype() == f64 ? 8 : 4)] ^= 1;
}

}  // namespace

TEST_CASE("verify passes on random graphs of all ops") {
  std::set<std::string> words;
  int slopes = 0;
  for (const DType dtype : {f64, f32})
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      INFO("seed " << seed << " " << name_of(dtype));
      Tape tape;
      const RandomGraph graph = random_graph(seed, 25, dtype);
      tape.backward(graph.loss);
      const int steps = tape.size();
      const std::string before = dump(tape);
      const Verification found = verify(tape, {.seed = seed});
      INFO(to_string(found));
      CHECK(found.ok());
      CHECK(found.steps == steps);
      CHECK(found.blames > 20);
      slopes += found.slopes;
      for (int i = 0; i < steps; ++i) words.emplace(tape.step(i).word());
      // Only by marks, and what bends: nothing else is in the way here.
      for (const auto& each : found.unchecked) {
        INFO(each.step << " " << tape.step(each.step).word() << ": " << name_of(each.reason) << " "
                       << each.text);
        CHECK((each.reason == Reason::no_derivative || each.reason == Reason::kink ||
               each.reason == Reason::coarse));
      }
      CHECK(count(found, Part::rule, Reason::kink) <= 3);
      CHECK(tape.size() == steps);
      CHECK(dump(tape) == before);
    }
  CHECK(slopes > 5000);
  CHECK(words.size() > 60);
}

TEST_CASE("verify fails on a rule that is wrong by a tenth of a percent") {
  const Tensor x = parameter(tensor({{0.3, -1.2, 2}, {0.7, 5, -0.1}}, f32), "x");
  for (const double off : {1.0, 1.001, 0.999}) {
    Tape tape;
    const Tensor y = nearly_square(x, off);
    const Tensor z = tanh(y);
    tape.backward(sum(z));
    const Verification found = verify(tape);
    INFO(to_string(found));
    CHECK(found.ok() == (off == 1));
    if (off == 1) continue;
    REQUIRE(found.faults.size() == 1);
    CHECK(found.faults[0].step == tape.step_of(y));
    CHECK(found.faults[0].part == Part::rule);
    CHECK_THAT(found.faults[0].text, Says("input 0 along a random direction: the rule gives"));
  }
}

TEST_CASE("verify fails on a value changed by one bit, and names its step first") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Tape tape;
    const RandomGraph graph = random_graph(seed, 8, f32);
    int flipped = 0;
    for (int i = 0; i < tape.size(); ++i) {
      const Step step = tape.step(i);
      // A reshaped tensor shares its input's numbers: what changes one changes both, and they agree.
      if (step.kind() != StepKind::op || step.output().size() == 0) continue;
      const auto storage = [](const Tensor& t) { return detail::Body::of(t)->storage; };
      bool shared = false;
      for (int k = 0; k < step.inputs(); ++k) shared |= storage(step.input(k)) == storage(step.output());
      if (shared) continue;
      const std::size_t at = static_cast<std::size_t>(step.output().size()) / 2;
      flip(step.output(), at);
      const Verification found = verify(tape, {.positions = 0});
      INFO(seed << ": step " << i << " " << step.word() << "\n" << to_string(found));
      REQUIRE_FALSE(found.ok());
      CHECK(found.faults[0].step == i);
      CHECK(found.faults[0].part == Part::forward);
      CHECK_THAT(found.faults[0].text, Says("the output at ["));
      flip(step.output(), at);
      ++flipped;
    }
    CHECK(flipped > 10);
    CHECK(verify(tape).ok());
  }
}

TEST_CASE("verify fails on a saved tensor or a gradient changed by one bit") {
  const Tensor x = parameter(tensor({{1, 2, 4}, {0, -1, 3}}), "x");
  const Tensor one = ones({3}), none = zeros({3});
  Tape tape;
  const Tensor y = layer_norm(x, one, none);
  const Tensor z = square(y);
  tape.backward(sum(z));
  REQUIRE(verify(tape).ok());

  flip(tape.step(tape.step_of(y)).saved(1), 1);
  Verification found = verify(tape);
  CHECK(found.faults.front().step == tape.step_of(x));  // its gradient does not add up either
  CHECK(std::ranges::any_of(found.faults, [&](const auto& each) {
    return each.step == tape.step_of(y) && each.part == Part::forward &&
           each.text.starts_with("saved tensor 1 at [1]");
  }));
  flip(tape.step(tape.step_of(y)).saved(1), 1);

  flip(tape.grad(y), 4);
  found = verify(tape);
  CHECK(std::ranges::any_of(found.faults, [&](const auto& each) {
    return each.step == tape.step_of(y) && each.part == Part::blame &&
           each.text.starts_with("the gradient at [1, 1]");
  }));
}

TEST_CASE("verify fails on a forward that is not a function of its inputs") {
  static int calls;
  calls = 0;
  const Op drifting{"drifting",
                    {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] + ++calls); }}};
  const Tensor x = tensor({1, 2});
  const Tape tape;
  (void)apply(drifting, {x});
  const Verification found = verify(tape);
  REQUIRE(found.faults.size() == 1);
  CHECK(found.faults[0].text == "the output at [0] is recorded as 2; forward gives 3");
}

TEST_CASE("verify knows a kink from a wrong rule") {
  const Tensor x = parameter(tensor({{0, 1, 1.5}, {2, 2, 2}}), "x");
  Tape tape;
  const Tensor a = relu(x), b = max(x, 1);
  Verification found = verify(tape, {.positions = 6});
  INFO(to_string(found));
  CHECK(found.ok());
  CHECK(std::ranges::any_of(found.unchecked, [&](const auto& each) {
    return each.step == tape.step_of(a) && each.reason == Reason::kink &&
           each.text.starts_with("input 0 at [0, 0]");
  }));
  CHECK(std::ranges::any_of(found.unchecked, [&](const auto& each) {
    return each.step == tape.step_of(b) && each.reason == Reason::kink &&
           each.text.starts_with("input 0 at [1, ");
  }));

  // On the kink, but with a slope that neither side has.
  const Op bad{"bad relu",
               {.forward = [](Inputs in, const Attributes&) { return Computed(relu(in[0])); },
                .rule = [](const Step&, const Tensor& dy, Needs) { return Gradients{dy * 3}; }}};
  Tape another;
  (void)apply(bad, {x});
  found = verify(another);
  CHECK_FALSE(found.ok());
}

TEST_CASE("verify says what it could not check, and why") {
  Tensor x = parameter(tensor({0.5, 2}), "x");

  SECTION("freed") {
    Tape tape{{.keep = Keep::leaves}};
    const Tensor loss = sum(square(x));
    CHECK(verify(tape).unchecked.empty());
    tape.backward(loss);
    const Verification found = verify(tape);
    CHECK(found.ok());
    CHECK(found.forwards == 0);
    CHECK(count(found, Part::forward, Reason::freed) == 2);
    CHECK(count(found, Part::rule, Reason::freed) == 2);
    CHECK(count(found, Part::blame, Reason::freed) == 2);  // the parameter's and the square's
  }
  SECTION("overwritten") {
    Tape tape;
    const Tensor y = square(x);
    const Tensor loss = sum(y);
    tape.backward(loss);
    x.assign(tensor({7, 7}));
    const Verification found = verify(tape);
    CHECK(found.ok());
    CHECK(found.forwards == 1);
    CHECK(count(found, Part::forward, Reason::overwritten) == 1);
    CHECK(count(found, Part::blame, Reason::refused) == 1);
  }
  SECTION("paused, foreign, without a derivative") {
    Tape outer;
    const Tensor there = square(x);
    Tape tape;
    const Tensor y = there * x;
    {
      const Tape::Pause pause;
      (void)exp(y);
    }
    const Tensor z = y.detach();
    const Verification found = verify(tape);
    CHECK(found.ok());
    CHECK(count(found, Part::forward, Reason::foreign) == 1);
    CHECK(count(found, Part::forward, Reason::paused) == 1);
    CHECK(count(found, Part::rule, Reason::no_derivative) == 1);
    CHECK(found.unchecked.back().step == tape.step_of(z));
  }
  SECTION("a third derivative of a formula") {
    Tape tape;
    const Tensor y = sum(tanh(x));
    const Tensor dx = tape.gradient(y, {x}, {.record = true})[0];
    (void)tape.gradient(sum(dx), {x}, {.record = true});
    const Verification found = verify(tape);
    CHECK(found.ok());
    REQUIRE(count(found, Part::rule, Reason::refused) == 1);
    CHECK_THAT(std::ranges::find(found.unchecked, Reason::refused, &Verification::Unchecked::reason)->text,
               Says("third derivatives of a formula are not known"));
  }
  SECTION("f32 only") {
    const Op narrow{"narrow",
                    {.forward =
                         [](Inputs in, const Attributes&) {
                           Tensor y = empty(in[0].shape());
                           for (std::size_t i = 0; i < y.writable<float>().size(); ++i)
                             y.writable<float>()[i] = in[0].values<float>()[i];
                           return Computed(y);
                         },
                     .rule = [](const Step&, const Tensor& dy, Needs) { return Gradients{dy}; }}};
    Tape tape;
    (void)apply(narrow, {x});
    const Tensor wide = x.to(f64);
    (void)wide.to(f32);
    const Verification found = verify(tape);
    CHECK(found.ok());
    CHECK(found.rules == 1);
    CHECK(count(found, Part::rule, Reason::not_f64) == 2);
  }
  SECTION("not finite") {
    const Tensor bad = parameter(tensor({-1, 1}), "bad");
    Tape tape;
    const Tensor y = log(bad);
    (void)square(y);
    const Verification found = verify(tape, {.positions = 2});
    CHECK(found.ok());  // NaN again where NaN was recorded
    CHECK(found.forwards == 2);
    CHECK(count(found, Part::rule, Reason::not_finite) >= 1);
  }
}

TEST_CASE("verify costs few forwards, whatever the size") {
  static std::atomic<int> forwards;
  const Op counted{
      "counted",
      {.forward =
           [](Inputs in, const Attributes&) {
             ++forwards;
             return Computed(sin(in[0]));
           },
       .rule = [](const Step& s, const Tensor& dy, Needs) { return Gradients{dy * cos(s.input(0))}; }}};
  Rng rng{3};
  const Tensor x = parameter(randn({500, 100}, rng), "x");
  Tape tape;
  (void)apply(counted, {x});
  forwards = 0;
  CHECK(verify(tape).ok());
  CHECK(forwards <= 6);
}

TEST_CASE("verify does not recurse") {
  const Tensor x = parameter(tensor({1.0}), "x");
  Tape tape;
  Tensor y = x;
  for (int i = 0; i < 20'000; ++i) y = twice(y) * 0.5;
  tape.backward(y);
  const Verification found = verify(tape, {.positions = 1});
  CHECK(found.ok());
  CHECK(found.forwards == 40'000);
  CHECK(found.rules == 40'000);
  CHECK(found.blames == 40'000);
}

TEST_CASE("what verify found reads as it should") {
  const Tensor x = parameter(tensor({{0, 1}, {2, 3}}, f32), "x");
  Tape tape;
  const Tensor y = nearly_square(x, 1.001);
  const Tensor z = relu(y);
  const Tensor cut = z.detach();
  const Tensor w = z * cut;
  tape.backward(sum(w));
  CHECK(to_string(verify(tape, {.positions = 4})) + "\n" + to_string(verify(Tape())) ==
        golden_text("verify.txt"));
}
