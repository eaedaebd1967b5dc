// What inspection says of Scalars beside the dump: explain, verify, memory, why, NaN, compare, pages.

#include <cmath>
#include <limits>

#include "tests/autograd/support.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/calculator.hpp"
#include "tests/inspect/guarded.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// A word of the tape's memory for Scalars: what a place behind the value of one holds.
double& word_of_tape(const Scalar& x, int behind) {
  return detail::recorder.words[static_cast<std::uint32_t>(x.tag()) + static_cast<std::uint32_t>(behind)];
}

}  // namespace

TEST_CASE("explain writes out the arithmetic of a Scalar, and goes deeper when asked") {
  Tape tape;
  const std::vector<Scalar> s = scalars({2, 1, 1}, {"a", "b", "c"});
  const Scalar z = named(s[0] * s[1] + exp(s[2]), "z");
  const Scalar y = 3 - z / s[0];
  CHECK(explain(tape, z) ==
        "step 0: z = a*b + exp(c)\n"
        "    2*1 + e^1 = 4.71828\n"
        "    from a, b, c\n");
  CHECK(explain(tape, y, {.depth = 3}) ==
        "step 0: a\n"
        "    2, a leaf\n"
        "step 0: b\n"
        "    1, a leaf\n"
        "step 0: c\n"
        "    1, a leaf\n"
        "step 0: z = a*b + exp(c)\n"
        "    2*1 + e^1 = 4.71828\n"
        "    from a, b, c\n"
        "step 0: s4 = 3 - z/a\n"
        "    3 - 4.71828 / 2 = 0.640859\n"
        "    from z, a\n");
  CHECK(explain(tape, y, {.depth = 2, .pencil = true}).find("3 - 4.718 / 2 = 0.641") != std::string::npos);
  REQUIRE_THROWS_WITH(explain(tape, Scalar(2)), Says("[explain] the Scalar 2 is a constant"));
  const Scalar before = s[0] * 1;
  Tape other;
  REQUIRE_THROWS_WITH(explain(other, before), Says("is not on this tape"));
}

TEST_CASE("what explain prints of a Scalar comes to the number that it prints") {
  Tape tape;
  const std::vector<Scalar> x = scalars({0.5, -1.25, 3}, "x");
  const Scalar half = 0.5;
  const std::vector<Scalar> all{x[0] - (x[1] - 1),
                                (x[0] - x[1]) * 2 / x[2],
                                -x[0] * x[1],
                                tanh(x[0]) + erf(x[1]),
                                pow(x[2], x[0]),
                                max(x[0], x[1] * x[2]),
                                min(sqrt(x[2]), abs(x[1])),
                                log(x[2]) * sin(x[0]) - cos(x[1]),
                                half * x[2],
                                sum(x),
                                mean(x),
                                dot(x, x),
                                log_sum_exp(x)};
  for (const Scalar& y : all) {
    const Explanation how = explained(tape, y);
    for (const Explanation::Line& line : how.blocks.back().lines) {
      INFO(line.arithmetic);
      CHECK(agrees(evaluated(line.arithmetic, {}), {}));
    }
  }
}

TEST_CASE("explain of a step of Scalars says which Scalar a number is") {
  const Tensor w = parameter(tensor({2, 3}, f64), "w");
  Tape tape;
  const std::vector<Scalar> part = unstack(w);
  const Scalar z = named(part[0] * part[1], "z");
  const Tensor both = stack({z, 7, part[0]});
  (void)Scalar(z * 2);
  CHECK(explain(tape, both, {0}) == "step 1: scalars [0]\n    6, the Scalar z = w[0]*w[1]\n");
  CHECK(explain(tape, both, {1}) == "step 1: scalars [1]\n    7, a constant among the Scalars\n");
  CHECK(explain(tape, both, {2}) == "step 1: scalars [2]\n    2, the Scalar w[0] = #0[0]\n");
  CHECK(explain(tape, part[0]) == "step 1: w[0] = #0[0]\n    2, a number of a tensor\n");
  REQUIRE(tape.size() == 3);
  CHECK_THAT(explain(tape, 2, {}), Says("1 Scalar: the dump lists them"));
}

TEST_CASE("verify computes statements, slopes and gradients of Scalars again") {
  const Tensor w = parameter(tensor({0.5, 1.5}, f64), "w");
  Tape tape;
  const std::vector<Scalar> x = scalars({0.3, -1.7, 2.5, 1e-9}, "x"), v = unstack(square(w));
  const std::vector<Scalar> all{x[0] * x[1] + exp(x[2]),
                                log(x[2]) / sqrt(x[0]) - 1.0 / x[1],
                                pow(x[2], x[0]) + hypot(x[0], x[1]),
                                tan(x[0]) + asin(x[0]) * acos(x[0]) - atan(x[1]),
                                sinh(x[0]) + cosh(x[1]) * tanh(x[1]) + erf(x[0]),
                                max(x[0], x[1]) + min(x[0], x[2]) - abs(x[1]),
                                expm1(x[3]) + log1p(x[3]) + (1 + x[3]),
                                v[0] * v[1]};
  const Scalar loss = log_sum_exp(all) + mean(all) + dot(all, all) - sum(all) + stack(all).size();
  const Tensor y = sum(stack({loss, x[0]}));
  tape.backward(y);
  const Verification found = verify(tape);
  INFO(to_string(found));
  CHECK(found.ok());
  CHECK(found.statements >= 12);
  CHECK(found.statement_slopes >= 40);
  CHECK(found.statement_blames >= 18);
  CHECK_THAT(to_string(found), Says("scalar statements computed again, "));
}

TEST_CASE("verify finds a value, a slope and a gradient of a Scalar that do not hold") {
  Tape tape;
  const std::vector<Scalar> s = scalars({2, 3}, {"a", "b"});
  const Scalar z = named(s[0] * s[1], "z");
  tape.backward(z);
  REQUIRE(verify(tape).ok());
  const auto fault = [&](int behind, double wrong) {
    double& word = word_of_tape(z, behind);
    const double right = std::exchange(word, wrong);
    const Verification found = verify(tape);
    word = right;
    REQUIRE(found.faults.size() >= 1);
    return found.faults[0].text;
  };
  CHECK(fault(0, 6.5) == "z = a*b: the value is recorded as 6.5; the arithmetic gives 6");
  CHECK(fault(1, 2) == "a: the gradient is recorded as 3; the sum over its readers is 6");
  CHECK(fault(-3, 3.5) == "z = a*b: the slope by b is recorded as 3.5; differences give 2");
  double& of_leaf = word_of_tape(s[1], 1);
  of_leaf = 2.25;
  CHECK(verify(tape).faults.at(0).text ==
        "b: the gradient is recorded as 2.25; the sum over its readers is 2");
}

TEST_CASE("verify leaves alone kinks, infinities, and what rounding does") {
  Tape tape;
  const std::vector<Scalar> x = scalars({0, 1e-300, 1e200, 1, -infinity}, "x");
  const Scalar kink = abs(x[0]) + max(x[0], 0.0);
  const Scalar over = x[2] * x[2];
  const Scalar cancels = (x[3] + 1e16) - 1e16;
  const Scalar small = log(x[1]) + x[1] * x[1];
  const Scalar peak = log_sum_exp(std::vector<Scalar>{x[3], x[4]});
  const Scalar y = kink + cancels + small + peak + select(over > 0, x[3], over);
  tape.backward(y);
  const Verification found = verify(tape);
  INFO(to_string(found));
  CHECK(found.ok());
}

TEST_CASE("memory counts what Scalars take, by their steps") {
  Tape tape;
  const std::vector<Scalar> x = scalars({1, 2, 3});
  const Scalar y = x[0] * x[1];
  const Tensor z = stack({y, x[2]});
  tape.backward(sum(z));
  const Memory held = memory(tape);
  const StepBytes& step = held.steps.at(static_cast<std::size_t>(tape.step_of(z)));
  const std::int64_t scalars = scalar_bytes(tape);
  CHECK(step.values == 4 * 8 + 2 * 8);  // and the stacked tensor
  CHECK(step.values + step.saved + step.blame == scalars + 2 * 2 * 8);
  CHECK(held.bytes.total() >= scalars);
  CHECK(*held.peak_with_leaves >= scalars);
}

TEST_CASE("a ledger goes through Scalars statement by statement, and on into tensors") {
  const Tensor w = parameter(tensor({2, 3}, f64), "w");
  Tape tape;
  const std::vector<Scalar> part = unstack(square(w));
  const Scalar z = named(part[0] * part[1], "z");
  const Tensor y = stack({z, part[0]});
  const Tensor loss = sum(square(y));
  tape.backward(loss);  // z² + s0², with s0 = 4, s1 = 9
  const Ledger found = ledger(tape, w, {0});
  INFO(to_string(found));
  CHECK(found.gradient == (2 * 36 * 9 + 2 * 4) * 4);
  CHECK(found.complete);
  CHECK(std::abs(found.rest) < 1e-9);
  const auto line = std::ranges::find_if(found.lines, &Ledger::Line::scalar);
  REQUIRE(line != found.lines.end());
  CHECK(line->name == "z = s0*s1 = 36");
  CHECK(line->local == 9);
  CHECK(line->blame == 72);
  CHECK(line->followed);
  const auto in_tensor = std::ranges::find_if(found.lines, [](const auto& each) { return each.input < 0; });
  REQUIRE(in_tensor != found.lines.end());
  CHECK(in_tensor->step == tape.step_of(y));

  const Ledger of_scalar = ledger(tape, part[1]);
  CHECK(of_scalar.gradient == 72 * 4);
  CHECK(of_scalar.lines.at(0).local == 4);
  CHECK(std::abs(of_scalar.rest) < 1e-9);
  REQUIRE_THROWS_WITH(ledger(tape, Scalar(1)), Says("[grad] this Scalar is a constant"));
}

TEST_CASE("a ledger from a Scalar ends at the one that backward started from") {
  Tape tape;
  const std::vector<Scalar> s = scalars({2, 3}, {"a", "b"});
  const Scalar z = named(s[0] * s[1] + s[0], "z"), y = named(exp(z * 0.1), "y");
  (void)Scalar(y * s[0]);  // after it
  tape.backward(y);
  const Ledger found = ledger(tape, s[0]);
  INFO(to_string(found));
  CHECK(found.complete);
  CHECK(std::abs(found.rest) < 1e-12);
  CHECK(found.lines.size() == 4);  // two readings by z, each followed to y
  CHECK(ledger(tape, y).given == 1);
  CHECK_THAT(to_string(found), Says("z = a*b + a = 8"));
}

TEST_CASE("why names the Pause in which Scalars became constants") {
  const Tensor w = parameter(tensor({2, 3}, f64), "w");
  Tape tape;
  const std::vector<Scalar> part = unstack(w);
  Scalar product;
  {
    const Tape::Pause pause;
    product = part[0] * part[1];
    product = product + part[0];
  }
  const std::vector<Scalar> s = scalars({5}, {"s"});
  const Tensor loss = sum(stack({product * s[0]}));
  tape.backward(loss);
  CHECK_FALSE(w.has_grad());
  const Why answer = why(tape, loss, w);
  CHECK(answer.cause() == Cause::paused);
  CHECK(tape.step(answer.step()).kind() == StepKind::paused);
  CHECK_THAT(to_string(answer, false),
             Says("Scalars that come of step 1 scalars were used while the tape was paused"));
  int marks = 0;
  for (int i = 0; i < tape.size(); ++i) marks += tape.step(i).kind() == StepKind::paused;
  CHECK(marks == 1);
  CHECK_THAT(dump(tape), Says("paused"));
  CHECK(verify(tape).ok());
}

TEST_CASE("the first scalar statement that made a NaN is named, not the ones after it") {
  const auto run = [](Tape& tape) {
    const std::vector<Scalar> s = scalars({1, -1}, {"a", "b"});
    const Scalar root = named(s[0] + log(s[1]) * 2, "root");
    const Scalar after = root * 2;
    tape.backward(after);
  };
  CHECK(stopped(run) ==
        "[scalars] 'root' made nan of finite numbers (step 0): log(-1) = nan, the log of a number below 0");
  CHECK_THAT(stopped([](Tape& tape) {
               const std::vector<Scalar> s = scalars({1000}, {"a"});
               tape.backward(exp(s[0]) + 1);
             }),
             Says("[scalars] 's1' made inf of finite numbers (step 0): exp(1000) = inf, an overflow"));
  CHECK_THAT(stopped([](Tape&) {
               const std::vector<Scalar> s = scalars({0, 0});
               (void)sum(stack({s[0] / s[1]}));
             }),
             Says("0 / 0 = nan, zero over zero"));
  CHECK_THAT(stopped([](Tape&) {
               const std::vector<Scalar> s = scalars({1, no_number}, "x");
               (void)sum(stack({s[0] + s[1]}));
             }),
             Says("[scalars] 'x[1]' held nan already"));
  CHECK_THAT(stopped([](Tape& tape) {
               const std::vector<Scalar> s = scalars({1}, "x");
               tape.backward(s[0] * no_number);
             }),
             Says("[scalars] 's1' made nan"));
}

TEST_CASE("a NaN that a tensor gave Scalars is the tensor's, and goes on through Scalars") {
  const Tensor w = parameter(tensor({-1, 2}, f64), "w");
  const auto run = [&](Tape&) {
    const std::vector<Scalar> part = unstack(log(w));
    (void)sum(stack({part[0] * part[1]}));
  };
  CHECK_THAT(stopped(run), Says("[log] made nan of finite numbers at [0] of (2) (step 1"));
  Tape tape;
  run(tape);
  CHECK(first_nonfinite(tape)->passed_on == std::vector<int>{2, 3});
}

TEST_CASE("the slope of a Scalar that made an infinite gradient is named") {
  const Tensor w = parameter(tensor({0}, f64), "w");
  const auto run = [&](Tape& tape) {
    const std::vector<Scalar> part = unstack(w);
    const Scalar root = named(sqrt(part[0]), "root");
    const Scalar y = root * 2;
    tape.backward(y);
  };
  CHECK(stopped(run) ==
        "[scalars] 'root' its slope made a gradient of inf out of finite numbers (step 1): 2*inf = inf, its "
        "gradient times its slope by w[0]");
  const auto overflow = [](Tape& tape) {
    const std::vector<Scalar> x = scalars({1e-10}, {"x"});
    const Scalar a = x[0] * 1.5e308, b = x[0] * 1.4e308;
    tape.backward(a + b);
  };
  CHECK(stopped(overflow) == "[scalars] 'x' adding up its gradients made inf of finite numbers (step 0)");
}

TEST_CASE("compare goes through Scalars one by one") {
  const auto record = [](double a, bool product) {
    const std::vector<Scalar> s = scalars({a, 3}, {"a", "b"});
    const Scalar z = named(product ? Scalar(s[0] * s[1]) : Scalar(s[0] + s[1]), "z");
    (void)Scalar(z * 2);
  };
  const Tape first;
  record(2, true);
  const Tape again;
  record(2, true);
  CHECK(compare(first, again).same());
  const Tape other;
  record(2.5, true);
  const Comparison value = compare(first, other);
  CHECK(value.difference == Comparison::Difference::value);
  CHECK(value.in_a == "a = 2");
  CHECK(value.in_b == "a = 2.5");
  CHECK(compare(first, other, {.tolerance = 0.5}).same());
  const Tape sums;
  record(2, false);
  const Comparison arithmetic = compare(first, sums);
  CHECK(arithmetic.difference == Comparison::Difference::inputs);
  CHECK(arithmetic.in_a == "z = a*b = 6");
  CHECK(arithmetic.in_b == "z = a + b = 5");
}

TEST_CASE("compare finds the Scalar whose gradient differs") {
  const auto record = [](Tape& tape, bool first) {
    const std::vector<Scalar> s = scalars({2, 3}, {"a", "b"});
    const Scalar z = s[0] * s[1], y = s[0] + s[1];
    tape.backward(first ? z : y);
  };
  Tape a;
  record(a, false);
  Tape b;
  record(b, true);
  const Comparison found = compare(a, b);
  CHECK(found.difference == Comparison::Difference::blame);
  CHECK(found.in_a == "1, of s3 = a + b = 5");
  CHECK_FALSE(to_string(found).empty());
}

TEST_CASE("a page lists the statements of a step of Scalars") {
  Tape tape;
  const std::vector<Scalar> s = scalars({2, 3}, {"a", "b"});
  const Scalar z = named(s[0] * s[1], "z");
  tape.backward(z);
  const std::string page = html(tape);
  CHECK_THAT(page, Says("a = 2\\nb = 3\\nz = a*b = 6") && Says("\"blame\":\"3\\n2\\n1\""));
  CHECK(page.find("freed") == html(Tape()).find("freed"));
}
