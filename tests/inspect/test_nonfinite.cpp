#include "autograd/inspect/nonfinite.hpp"

#include <limits>

#include "tests/catch.hpp"
#include "tests/inspect/guarded.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

const double inf = std::numeric_limits<double>::infinity(), nan_ = std::nan("");

// The line so many below the one this stands on.
std::string line_below(unsigned lines = 1, Where where = Where::current()) {
  return fmt::format("test_nonfinite.cpp:{}", where.line() + lines);
}

Tensor leaf(std::initializer_list<double> values, const char* name, DType dtype = f64) {
  const auto size = static_cast<std::int64_t>(values.size());
  return parameter(tensor(std::vector<double>(values), {size}).to(dtype), name);
}

}  // namespace

// BC-44
TEST_CASE("the first step that made NaN of finite numbers is named, not the ones after it") {
  const Tensor x = leaf({1, -1}, "x");
  std::string line;
  const std::string text = stopped([&](Tape& tape) {
    line = line_below(2) + ", from " + line_below();
    const Scope scope("head");
    const Tensor y = exp(log(x));
    tape.backward(sum(y * 2));
  });
  CHECK(text == "[log] made nan of finite numbers at [1] of (2) (step 1, head, " + line +
                    "): log(-1) = nan, the log of a number below 0");
  const Tensor two = leaf({2}, "two");
  CHECK_THAT(stopped([&](Tape&) { (void)sqrt(sqrt(1 - two)); }),
             Says("[sqrt] made nan of finite numbers at [0] of (1) (step 2, ") &&
                 Says("sqrt(-1) = nan, the root of a number below 0"));
}

// BC-23
TEST_CASE("the infinite slope of a root at 0 is named, not the 0 · inf after it") {
  const Tensor x = leaf({1}, "x");
  std::string line;
  const auto run = [&](Tape& tape) {
    line = line_below();
    const Tensor y = sqrt(square(x - 1));
    tape.backward(sum(y));
  };
  const std::string text = stopped(run);
  CHECK_THAT(text, Says("[sqrt] the rule made inf of finite numbers, for input 0 at [0] of (1) (step 3, " +
                        line + ")") &&
                       Says(" / 0 = inf, a division by 0, in d sqrt/dx"));
  Tape tape;
  run(tape);
  const auto found = first_nonfinite(tape);
  REQUIRE(found);
  CHECK(found->origin == NonFinite::Origin::rule);
  CHECK(found->step == 3);
  CHECK(found->passed_on == std::vector<int>{2, 1, 0});
  CHECK_THAT(to_string(*found), Says("\npassed on by 2 1 0"));
  Tape safe{{.stop_on_nonfinite = true}};
  CHECK_NOTHROW(safe.backward(sum(safe_sqrt(square(x - 1)))));
}

TEST_CASE("each kind of arithmetic says what was wrong with it") {
  const auto of = [&](auto f, std::initializer_list<double> values, DType dtype = f64) {
    const Tensor x = leaf(values, "x", dtype);
    return stopped([&](Tape&) { (void)f(x); });
  };
  CHECK_THAT(of([](const Tensor& x) { return x / (x - x); }, {0}), Says("0 / 0 = nan, zero over zero"));
  CHECK_THAT(of([](const Tensor& x) { return x / (x - x); }, {3}), Says("3 / 0 = inf, a division by 0"));
  CHECK_THAT(of([](const Tensor& x) { return log(x); }, {0}), Says("log(0) = -inf, the log of 0"));
  CHECK_THAT(of([](const Tensor& x) { return exp(x); }, {1000}),
             Says("exp(1000) = inf, an overflow: f64 ends at 1.798e+308"));
  CHECK_THAT(of([](const Tensor& x) { return exp(x); }, {100}, f32),
             Says("exp(100) = inf, an overflow: f32 ends at 3.403e+38"));
  CHECK_THAT(of([](const Tensor& x) { return square(x); }, {1e30}, f32),
             Says("1.000e+30 * 1.000e+30 = inf, an overflow"));
  CHECK_THAT(of([](const Tensor& x) { return pow(x, 0.5); }, {-2}),
             Says("pow(-2, 0.5) = nan, a power of a number below 0"));
  CHECK_THAT(of([](const Tensor& x) { return pow(x, -1); }, {0}),
             Says("pow(0, -1) = inf, 0 to a power below 0"));
  CHECK_THAT(of([](const Tensor& x) { return rsqrt(x); }, {0}), Says("= inf, a division by"));
}

TEST_CASE("a leaf that held NaN already is named, and a parameter that held infinity") {
  const Tensor x = named(tensor({1, nan_}, f64), "sheet"), w = leaf({inf}, "grid");
  std::string line;
  const std::string text = stopped([&](Tape&) {
    line = line_below();
    (void)exp(x);
  });
  CHECK(text == "[constant] 'sheet' held nan already at [1] of (2) (step 0, " + line + ")");
  CHECK_THAT(stopped([&](Tape&) { (void)exp(w); }),
             Says("[parameter] 'grid' held inf already at [0] of (1)"));
  CHECK_THAT(stopped([&](Tape&) { (void)(leaf({1}, "x") * nan_); }), Says("it was given the number nan"));
}

TEST_CASE("infinities that are meant are no fault until they make NaN") {
  const Tensor mask = named(tensor({0, -inf}, f64), "mask"), x = leaf({1, 2}, "x");
  const auto masked = [&](Tape& tape) {
    const Tensor y = softmax(x + mask);
    tape.backward(sum(square(y)));
  };
  CHECK(stopped(masked) == "");
  CHECK(stopped([&](Tape&) { (void)softmax(masked_fill(x, tensor({0, 1}, i32), -inf)); }) == "");
  CHECK(stopped([&](Tape&) { (void)maximum(x, -inf); }) == "");
  CHECK_THAT(stopped([&](Tape&) { (void)(mask - mask); }),
             Says("[sub] made nan of infinities at [1] of (2)") &&
                 Says("-inf - -inf = nan, infinity minus infinity"));
  CHECK_THAT(stopped([&](Tape&) { (void)(mask * (x - x)); }), Says("-inf * 0 = nan, zero times infinity"));
}

TEST_CASE("a constant's infinity is named after all where the result is infinite and no step is to blame") {
  const Tensor x = named(tensor({1, inf}, f64), "sheet"), w = leaf({1, 2}, "w");
  Tape tape;
  (void)sum(x * w);
  const auto found = first_nonfinite(tape);
  REQUIRE(found);
  CHECK(found->origin == NonFinite::Origin::leaf);
  CHECK(found->name == "sheet");
  CHECK(found->passed_on == std::vector<int>{2, 3});
}

TEST_CASE("a fused op's fault is found among the ops that it is composed of") {
  const Tensor q = parameter(full({1, 2}, 1e25), "q"), v = parameter(ones({1, 2}), "v");
  const std::string scores = stopped([&](Tape&) { (void)attention(q, q, v); });
  CHECK_THAT(scores, Says("[attention] made nan of finite numbers") && Says("inf - inf = nan") &&
                         Says("an overflow"));
  const Tensor x = parameter(full({1, 3}, 2.f), "x"), w = parameter(ones({3}), "w");
  CHECK_THAT(stopped([&](Tape& tape) { tape.backward(sum(layer_norm(x, w, w, 0))); }), Says("[layer_norm]"));
}

TEST_CASE("adding up gradients may overflow where none of them did") {
  const Tensor x = leaf({0.1}, "x", f32);
  CHECK_THAT(stopped([&](Tape& tape) {
               const Tensor y = x * 2e38 + x * 2e38;
               tape.backward(y, {.upstream = tensor({1.5}, f32)});
             }),
             Says("[parameter] 'x' adding up its gradients made inf of finite numbers at [0] of (1)") &&
                 Says("3.000e+38 + 3.000e+38 = inf, an overflow of f32"));
}

TEST_CASE("a sweep that starts from NaN says so") {
  const Tensor x = leaf({1, 2}, "x");
  CHECK_THAT(stopped([&](Tape& tape) {
               tape.backward(square(x), {.upstream = tensor({1, nan_}, f64)});
             }),
             Says("[backward] the gradient it began with held nan already at [1] of (2) (step 1"));
  Tape tape{{.stop_on_nonfinite = true}};
  const Tensor y = square(x);
  CHECK_THROWS_WITH(tape.gradient(y, {x}, {.upstream = tensor({1, nan_}, f64)}), Says("held nan already"));
}

TEST_CASE("gradients asked for, recorded or not, are guarded too") {
  const Tensor x = leaf({0}, "x");
  for (const bool record : {false, true}) {
    Tape tape{{.stop_on_nonfinite = true}};
    const Tensor y = sqrt(x);
    CHECK_THROWS_WITH(tape.gradient(y, {x}, {.upstream = tensor({1}, f64), .record = record}),
                      Says("made inf of finite numbers"));
  }
}

TEST_CASE("where the guard stops, no parameter has got a gradient and nothing was recorded elsewhere") {
  const Tensor x = leaf({0, 1}, "x"), w = leaf({1, 1}, "w");
  Tape tape{{.stop_on_nonfinite = true}};
  const Tensor y = sum(sqrt(x) * w);
  const int steps = tape.size();
  CHECK_THROWS_AS(tape.backward(y), Error);
  CHECK(tape.size() == steps);
  CHECK(Tape::current() == &tape);
  CHECK_FALSE(x.has_grad());
  CHECK_FALSE(w.has_grad());
  CHECK(tape.backward_from() == -1);
}

TEST_CASE("the guard changes no bit") {
  Rng rng{3};
  const Tensor x = parameter(randn({5, 7}, rng), "x");
  std::vector<double> plain;
  for (const bool guard : {false, true}) {
    Tape tape{{.stop_on_nonfinite = guard}};
    const Tensor y = mean(softmax(x * x + x) + tanh(x));
    tape.backward(y);
    std::vector<double> now = x.grad().to_vector();
    now.push_back(y.item());
    if (guard) CHECK(now == plain);
    plain = now;
    x.clear_grad();
  }
}

TEST_CASE("what is i32, freed, paused or empty is no fault, and looking changes nothing") {
  const Tensor x = leaf({1, 2}, "x");
  Tape tape{{.keep = Keep::leaves}};
  const Tensor y = exp(x * 400);
  {
    const Tape::Pause pause;
    (void)log(y - y);
  }
  (void)zeros({0});
  (void)greater(x, 0);
  tape.backward(sum(y * 0));
  CHECK(said(tape) == "");  // what was inf is freed
  Tape kept;
  (void)exp(leaf({1000}, "x"));
  const std::string before = dump(kept);
  (void)said(kept);
  CHECK(dump(kept) == before);
}

TEST_CASE("a NaN in a long chain is found without recursion") {
  const Tensor x = leaf({-1}, "x");
  Tape tape;
  Tensor y = log(x);
  for (int i = 0; i < 200'000; ++i) y = y * 1.5;
  const auto found = first_nonfinite(tape);
  REQUIRE(found);
  CHECK(found->step == 1);
  CHECK(found->passed_on.size() == 200'000);
  CHECK_THAT(to_string(*found), Says("passed on by 2 3 4 5 6 7 8 9 … 199992 more"));
}
