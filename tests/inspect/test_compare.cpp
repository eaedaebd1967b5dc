// Where two runs part.

#include <cmath>
#include <limits>
#include <memory>

#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

using Difference = Comparison::Difference;

// What may be different about a run of: 0 sheet, 1 grid, 2 times, 3 twice, 4 mul by a number, 5 rounded.
struct Variant {
  Tensor sheet = tensor({{1, 2}, {0.25, 4}});
  Tensor grid = tensor({{1, 2}, {3, 4}});
  double factor = 0.5;
  const char* role = "query";
  const char* path = "attend";
  bool swapped = false;
  Keep keep = Keep::all;
};

struct Run {
  Tensor grid;
  Tape tape;
  Tensor y;

  explicit Run(const Variant& v = {}) : grid(parameter(v.grid, "grid")), tape{{.keep = v.keep}} {
    const Tensor sheet = named(copy(v.sheet), "sheet");
    {
      const Scope scope(v.path);
      const Role role(v.role);
      y = v.swapped ? times(grid, sheet) : times(sheet, grid);
    }
    y = twice(y);
    y = y * v.factor;
    (void)rounded(y);
  }
  void backward(double upstream = 1) { tape.backward(y, {.upstream = full({2, 2}, upstream)}); }
};

Comparison against(const Variant& variant, const CompareOptions& options = {}) {
  const Run a, b(variant);
  return compare(a.tape, b.tape, options);
}

// Two tapes of one step each.
Comparison of_steps(const std::function<void()>& a, const std::function<void()>& b) {
  const Tape first;
  a();
  const Tape second;
  b();
  return compare(first, second);
}

}  // namespace

TEST_CASE("equal runs are the same, and what was compared is said") {
  Run a, b;
  const Comparison before = compare(a.tape, b.tape);
  CHECK(before.same());
  CHECK(before.step == -1);
  CHECK(to_string(before) == "the tapes are the same: 6 steps, 6 values bit for bit\n");
  a.backward();
  b.backward();
  CHECK(to_string(compare(a.tape, b.tape)) ==
        "the tapes are the same: 6 steps, 6 values and 4 gradients bit for bit\n");
  CHECK(fmt::format("{}", compare(a.tape, b.tape, {.tolerance = 1e-6})) ==
        "the tapes are the same: 6 steps, 6 values and 4 gradients to 1e-06 of their scale\n");
  CHECK(compare(a.tape, a.tape).same());
}

TEST_CASE("the first value that differs is found, with its place") {
  const Comparison c = against({.grid = tensor({{1, 2}, {3.5, 4}})});
  CHECK(c.difference == Difference::value);
  CHECK(c.step == 1);
  CHECK(c.element == 2);
  CHECK(c.a == 3);
  CHECK(c.b == 3.5);
  CHECK(c.scale == 4);
  CHECK(to_string(c) ==
        "the tapes part at step 1 in value: dial in grid, number [1, 0]\n"
        "  a: 3\n"
        "  b: 3.5\n"
        "  apart by 0.5, 0.125 of the largest number\n");
}

TEST_CASE("one bit is a difference, and looks like one") {
  const float next = std::nextafter(0.25f, 1.0f);
  const Variant variant{.sheet = tensor({{1, 2}, {next, 4}})};
  const Comparison c = against(variant);
  CHECK(c.step == 0);
  CHECK(c.index == "[1, 0]");
  CHECK(c.in_a == "0.25");
  CHECK(c.in_b == "0.25000003");
  CHECK(against(variant, {.tolerance = 1e-8}).same());
  CHECK_FALSE(against(variant, {.tolerance = 1e-9}).same());
}

TEST_CASE("where a step came to another value, both arithmetics are shown") {
  const auto run = [](double x) {
    auto tape = std::make_unique<Tape>();
    (void)exp(tensor({0, x}));
    return tape;
  };
  const auto a = run(2), b = run(2.5);
  const Comparison c = compare(*a, *b, {.tolerance = 0.25});
  CHECK(c.step == 1);
  CHECK(c.worked_a == "e^2 = 7.38906\n");
  CHECK(c.worked_b == "e^2.5 = 12.1825\n");
  CHECK(to_string(c) ==
        "the tapes part at step 1 in value: exp, number [1]\n"
        "  a: 7.389056\n"
        "       e^2 = 7.38906\n"
        "  b: 12.182494\n"
        "       e^2.5 = 12.1825\n"
        "  apart by 4.79, 0.393 of the largest number\n");
}

TEST_CASE("a tolerance is relative to the tensor's scale") {
  const Variant variant{.sheet = tensor({{1, 2}, {0.25 + 0.0625, 4}})};  // off by 1/64 of the largest
  CHECK(against(variant, {.tolerance = 1.0 / 64}).same());
  CHECK(against(variant, {.tolerance = 1.0 / 65}).step == 0);
  const Run a;
  CHECK_THROWS_WITH(compare(a.tape, a.tape, {.tolerance = -1}),
                    "[compare] the tolerance is -1; need 0 or more");
  CHECK_THROWS_WITH(compare(a.tape, a.tape, {.tolerance = std::nan("")}), Says("the tolerance is nan"));
}

TEST_CASE("NaN agrees with NaN, and infinities with their like; signs of zero differ bit for bit only") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto same = [](double a, double b, double tolerance) {
    const Tape first;
    (void)twice(tensor({1, a}));
    const Tape second;
    (void)twice(tensor({1, b}));
    return compare(first, second, {.tolerance = tolerance}).same();
  };
  for (const double tolerance : {0.0, 1e-3}) {
    CHECK(same(nan, nan, tolerance));
    CHECK(same(inf, inf, tolerance));
    CHECK_FALSE(same(nan, 1, tolerance));
    CHECK_FALSE(same(inf, -inf, tolerance));
    CHECK_FALSE(same(inf, nan, tolerance));
    CHECK_FALSE(same(inf, 1e30, tolerance));
  }
  CHECK_FALSE(same(0.0, -0.0, 0));
  CHECK(same(0.0, -0.0, 1e-3));
}

TEST_CASE("differences in structure are told by what they are") {
  const auto check = [](const Comparison& c, Difference difference, int step, const char* a, const char* b) {
    CHECK(c.difference == difference);
    CHECK(c.step == step);
    CHECK(c.in_a == a);
    CHECK(c.in_b == b);
  };
  check(against({.factor = 0.75}), Difference::inputs, 4, "input 1 is the number 0.5",
        "input 1 is the number 0.75");
  check(against({.role = "key"}), Difference::role, 0, "query", "key");
  check(against({.path = "look"}), Difference::path, 0, "attend", "look");
  check(against({.swapped = true}), Difference::kind, 0, "constant", "parameter");
  check(against({.sheet = tensor({{1, 2}, {0.25, 4}}, f64), .grid = tensor({{1, 2}, {3, 4}}, f64)}),
        Difference::dtype, 0, "f32", "f64");
  const Tensor x = tensor({1, 2}), y = tensor({1, 2, 3});
  check(of_steps([&] { (void)twice(x); }, [&] { (void)twice(y); }), Difference::shape, 0, "(2)", "(3)");
  check(of_steps([&] { (void)twice(x); }, [&] { (void)rounded(x); }), Difference::word, 1, "twice",
        "rounded");
  check(of_steps([&] { (void)sum(x, {0}); }, [&] { (void)sum(x, {-1}, true); }), Difference::shape, 1, "()",
        "(1)");
  const auto rate = [&](double r) { return [&x, r] { (void)dropout(x, r, 1); }; };
  check(of_steps(rate(0.25), rate(0.75)), Difference::settings, 1, "rate=0.25", "rate=0.75");
  const auto reads = [&](int which) {
    return [&x, which] {
      const Tensor a = twice(x);
      const Tensor b = twice(a);
      (void)twice(which ? a : b);
    };
  };
  check(of_steps(reads(0), reads(1)), Difference::inputs, 3, "input 0 is step 2", "input 0 is step 1");
  CHECK(to_string(against({.role = ""})) ==
        "the tapes part at step 0 in role: constant in sheet\n"
        "  a: query\n"
        "  b: none\n");
}

TEST_CASE("a tape that is the beginning of the other is told so") {
  const Run a;
  Run b;
  (void)twice(b.y);
  const Comparison longer = compare(a.tape, b.tape);
  CHECK(longer.difference == Difference::length);
  CHECK(longer.step == 6);
  CHECK(to_string(longer) ==
        "a is the beginning of b: b goes on at step 6, twice\n"
        "  a: ends after 6 steps\n"
        "  b: goes on to 7\n");
  CHECK_THAT(to_string(compare(b.tape, a.tape)), Says("b is the beginning of a"));
  CHECK(against({.grid = tensor({{0, 0}, {0, 0}})}).difference == Difference::value);
}

TEST_CASE("blame is compared from the last step to the first") {
  Run a, b;
  a.backward();
  const Comparison one = compare(a.tape, b.tape);
  CHECK(one.difference == Difference::backward);
  CHECK(one.in_a == "backward from step 4");
  CHECK(one.in_b == "no backward yet");
  b.backward(0.5);
  const Comparison c = compare(a.tape, b.tape);
  CHECK(c.difference == Difference::blame);
  CHECK(c.step == 4);
  CHECK(c.a == 1);
  CHECK(c.b == 0.5);
  CHECK(compare(a.tape, b.tape, {.tolerance = 0.5}).same());
}

TEST_CASE("a rule that changed parts the tapes where it ran, not where its blame ended") {
  const auto run = [](double slope) {
    static double factor;
    factor = slope;
    static const Op odd{
        "odd",
        {.forward = [](Inputs in, const Attributes&) { return Computed(copy(in[0])); },
         .rule = [](const Step&, const Tensor& dy, Needs) { return Gradients{dy * factor}; }}};
    auto tape = std::make_unique<Tape>();
    const Tensor w = parameter(tensor({1, 2}), "w");
    const Tensor y = twice(apply(odd, {twice(w)}));
    tape->backward(y, {.upstream = ones({2})});
    return tape;
  };
  const auto a = run(1);
  const auto b = run(1.001);
  const Comparison c = compare(*a, *b);
  CHECK(c.difference == Difference::blame);
  CHECK(c.step == 1);  // twice: what the rule of step 2 gave it
}

TEST_CASE("what is no longer there is counted, not called different") {
  Run a, b({.keep = Keep::leaves});
  a.backward();
  b.backward();
  const Comparison c = compare(a.tape, b.tape);
  CHECK(c.same());
  CHECK(c.unread > 0);
  CHECK_THAT(to_string(c), Says("could not be compared: freed or overwritten"));
  Run kept, written;
  written.grid.assign(zeros({2, 2}));
  const Comparison after = compare(kept.tape, written.tape);
  CHECK(after.same());
  CHECK(after.unread == 1);
  CHECK(after.values == 5);
}

TEST_CASE("comparing changes nothing, and a million steps are compared") {
  Run a, b;
  const std::string before = dump(a.tape);
  (void)compare(a.tape, b.tape);
  CHECK(dump(a.tape) == before);
  const Tensor w = parameter(tensor(1), "w");
  const auto fill = [&](const Tape& tape, bool odd) {
    Tensor y = w;
    while (tape.size() < 1'000'000) y = odd && tape.size() == 999'999 ? rounded(y) : times(y, w);
  };
  const Tape first;
  fill(first, false);
  const Tape second;
  fill(second, true);
  CHECK(compare(first, second).step == 999'999);
}
