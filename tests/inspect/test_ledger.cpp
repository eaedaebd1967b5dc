#include <algorithm>
#include <cmath>

#include "autograd/inspect/replay.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/random_graph.hpp"
#include "tests/inspect/support.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

using Index = std::vector<std::int64_t>;

// What each line should hold: derivatives through the tape's own rules, the recorded gradient, and a way.
void check_lines(const Tape& tape, const Ledger& found) {
  std::vector<double> below(found.lines.size() + 1);
  for (const Ledger::Line& line : found.lines) {
    const auto parent = static_cast<std::size_t>(line.parent + 1);
    REQUIRE(line.parent < static_cast<int>(&line - found.lines.data()));
    const int from = line.parent < 0 ? found.step : found.lines[parent - 1].step;
    CHECK(tape.step(line.step).input_step(line.input) == from);
    CHECK(line.blame == tape.step(line.step).gradient().to_vector()[static_cast<std::size_t>(line.element)]);
    CHECK(line.way == (line.parent < 0 ? 1 : found.lines[parent - 1].way * found.lines[parent - 1].local));
    if (line.parent >= 0) CHECK(found.lines[parent - 1].followed);
    below[parent] += line.contribution();
  }
  if (!found.complete) return;
  for (const Ledger::Line& line : found.lines)
    if (line.followed)
      CHECK(std::abs(below[static_cast<std::size_t>(&line - found.lines.data()) + 1] - line.contribution()) <=
            1e-9 * std::max(1.0, std::abs(line.contribution())));
}

double listed(const Ledger& found) {
  double total = found.given + found.rest;
  for (const Ledger::Line& line : found.lines)
    if (!line.followed) total += line.contribution();
  return total;
}

// The size of what is added up.
double scale_of(const Ledger& found) {
  double scale = std::abs(found.gradient);
  for (const Ledger::Line& line : found.lines) scale = std::max(scale, std::abs(line.contribution()));
  return scale;
}

}  // namespace

TEST_CASE("a ledger adds up to the gradient, whatever its length") {
  int complete = 0, followed = 0;
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    Tape tape;
    const RandomGraph graph = random_graph(seed, 15);
    tape.backward(graph.loss);
    Rng rng(seed);
    const int steps = tape.size();
    const std::string before = dump(tape);
    for (int turn = 0; turn < 2; ++turn) {
      Tensor x;
      while (!x.defined() || !x.has_grad() || x.size() == 0)
        x = graph.parameters[static_cast<std::size_t>(rng.below(graph.parameters.size()))];
      const auto flat = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(x.size())));
      const double gradient = x.grad().to_vector()[static_cast<std::size_t>(flat)];
      for (int lines = 1; lines <= 50; ++lines) {
        const Ledger found = ledger(tape, x, index_of(x.shape(), flat), {.lines = lines});
        INFO("seed " << seed << ", " << lines << " lines\n" << to_string(found));
        CHECK(found.gradient == gradient);
        CHECK(static_cast<int>(found.lines.size()) <= lines);
        CHECK(std::abs(listed(found) - gradient) <= 1e-6 * std::abs(gradient));
        check_lines(tape, found);
        if (found.complete) CHECK(std::abs(found.rest) <= 1e-10 * scale_of(found));
        complete += found.complete;
        followed += std::ranges::any_of(found.lines, &Ledger::Line::followed);
      }
    }
    CHECK(tape.size() == steps);
    CHECK(dump(tape) == before);
  }
  CHECK(complete > 100);
  CHECK(followed > 300);
}

TEST_CASE("a ledger without a limit lists every contribution there is") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Tape tape;
    const RandomGraph graph = random_graph(seed, 6);
    tape.backward(graph.loss);
    const Tensor x = graph.parameters.front();
    if (!x.has_grad() || x.size() == 0) continue;
    const Ledger found = ledger(tape, x, index_of(x.shape(), 0), {.lines = 1'000'000});
    INFO("seed " << seed);
    CHECK(found.complete);
    CHECK(std::abs(found.rest) <= 1e-10 * scale_of(found));
    // By hand, one number of one reader after the other.
    const Uses uses(tape);
    std::size_t direct = 0;
    for (const Use& use : uses.of(tape.step_of(x))) {
      const Step reader = tape.step(use.step);
      if (!reader.gradient().defined()) continue;
      for (std::int64_t j = 0; j < reader.gradient().size(); ++j) {
        const Tensor dy = inspect::only(reader.gradient(), j, j + 1);
        const double passed = inspect::rule_again(reader, dy, use.input).to_vector()[0];
        const auto line = std::ranges::find_if(found.lines, [&](const Ledger::Line& each) {
          return each.parent < 0 && each.step == use.step && each.input == use.input && each.element == j;
        });
        CHECK((line != found.lines.end()) == (passed != 0));
        if (line == found.lines.end()) continue;
        CHECK(std::abs(line->product() - passed) <= 1e-12 * std::max(1.0, std::abs(passed)));
        ++direct;
      }
    }
    CHECK(direct == static_cast<std::size_t>(std::ranges::count(found.lines, -1, &Ledger::Line::parent)));
  }
}

TEST_CASE("a tensor read twice by one step has two lines") {
  const Tensor x = parameter(tensor({3.0, 5.0}, f64), "x");
  Tape tape;
  const Tensor y = x * x;
  const Tensor loss = sum(y);
  tape.backward(loss);
  const Ledger found = ledger(tape, x, {1}, {.lines = 2});
  REQUIRE(found.lines.size() == 2);
  CHECK(found.lines[0].input + found.lines[1].input == 1);
  for (const Ledger::Line& line : found.lines) {
    CHECK(line.step == tape.step_of(y));
    CHECK(line.element == 1);
    CHECK(line.local == 5);
    CHECK(line.blame == 1);
  }
  CHECK(found.gradient == 10);
  CHECK(found.rest == 0);
}

TEST_CASE("contributions that cancel are found") {
  // Each score pulls at the shift with as much as the others push: a key's bias under softmax.
  const Tensor shift = parameter(tensor(0.25, f64), "shift");
  const Tensor scores = tensor({1.0, 2.0, 4.0}, f64);
  Tape tape;
  const Tensor shifted = scores + shift;
  const Tensor weights = softmax(shifted, 0);
  const Tensor value = tensor({1.0, -1.0, 2.0}, f64);
  const Tensor mixed = weights * value;
  tape.backward(sum(mixed));
  const Ledger found = ledger(tape, shift, {}, {.lines = 1000});
  CHECK(std::ranges::count(found.lines, -1, &Ledger::Line::parent) == 3);
  double total = 0;
  for (const Ledger::Line& line : found.lines) {
    if (line.parent >= 0) continue;
    CHECK(line.step == tape.step_of(shifted));
    CHECK(std::abs(line.contribution()) > 0.01);
    total += line.contribution();
  }
  CHECK(std::abs(total) < 1e-15);
  CHECK(std::abs(found.gradient) < 1e-15);

  const Tensor w = parameter(tensor({2.0, -2.0}, f64), "w");
  Tape two;
  const Tensor a = w * 3, b = w * -3;
  const Tensor apart = a + b;
  two.backward(sum(apart));
  const Ledger cancelled = ledger(two, w, {0}, {.lines = 2});
  REQUIRE(cancelled.lines.size() == 2);
  CHECK(cancelled.lines[0].contribution() == -cancelled.lines[1].contribution());
  CHECK(cancelled.gradient == 0);
}

TEST_CASE("the largest contribution of a long sum is found first") {
  Rng rng{5};
  const Tensor scale = parameter(tensor(1.5, f64), "scale");
  Tensor x = uniform({100'000}, 0, 1e-6, rng, f64);
  x.writable<double>()[77'777] = 40;
  Tape tape;
  const Tensor y = x * scale;
  tape.backward(sum(y));
  const Ledger found = ledger(tape, scale, {}, {.lines = 1});
  REQUIRE(found.lines.size() == 1);
  CHECK(found.lines[0].index == "[77777]");
  CHECK(found.lines[0].contribution() == 40);
  CHECK(std::abs(found.rest - 0.05) < 0.001);
}

TEST_CASE("a ledger costs a few runs of a rule for each line, and never follows paths") {
  // 2^60 paths lead from x to the loss.
  static int runs;
  const Op counted{"counted",
                   {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] + in[1]); },
                    .rule =
                        [](const Step&, const Tensor& dy, Needs) {
                          ++runs;
                          return Gradients{dy, dy};
                        }}};
  const Tensor x = parameter(full({8}, 1e-12, f64), "x");
  Tape tape;
  Tensor y = x;
  for (int i = 0; i < 60; ++i) y = apply(counted, {y, y});
  tape.backward(sum(y));
  for (const int lines : {10, 100, 1000}) {
    runs = 0;
    const Ledger found = ledger(tape, x, {3}, {.lines = lines});
    CHECK(static_cast<int>(found.lines.size()) == lines);
    CHECK(runs < 12 * lines + 20);
  }
}

TEST_CASE("a ledger follows a long chain without recursion") {
  const Tensor x = parameter(tensor({1.0}, f64), "x");
  Tape tape;
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = twice(y) * 0.5;
  tape.backward(y);
  const Ledger found = ledger(tape, x, {0}, {.lines = 300});
  CHECK(found.lines.size() == 300);
  CHECK(found.rest == 0);
  CHECK(std::abs(listed(found) - 1) < 1e-12);
}

TEST_CASE("a step whose rule cannot run again is in the rest, and named") {
  const Tensor x = parameter(tensor({2.0}, f64), "x");
  Tensor w = parameter(tensor({3.0}, f64), "w");
  Tape tape;
  const Tensor y = x * w;
  const Tensor z = x * 7;
  const Tensor total = y + z;
  tape.backward(total);
  w.assign(tensor({0.0}, f64));
  const Ledger found = ledger(tape, x, {0});
  REQUIRE(found.unasked.size() == 1);
  CHECK(found.unasked[0].step == tape.step_of(y));
  CHECK_THAT(found.unasked[0].why, Says("overwritten"));
  CHECK_FALSE(found.complete);
  CHECK(found.rest == 3);
}

TEST_CASE("what a ledger cannot tell, it says") {
  const Tensor x = parameter(tensor({1, 2}), "x");
  const Tensor other = parameter(tensor({1, 2}), "other");
  Tape tape;
  const Tensor y = x * x;
  const Tensor off = other * 2;
  const Tensor loss = sum(y);
  CHECK_THROWS_WITH(ledger(tape, x, {0}), Says("backward has not run on this tape"));
  tape.backward(loss);
  CHECK_THROWS_WITH(ledger(tape, x, {}), Says("[ledger] the index has 0 places; the tensor has shape (2)"));
  CHECK_THROWS_WITH(ledger(tape, x, {2}), Says("[ledger] index 2 of axis 0 is out of range"));
  CHECK_THROWS_WITH(ledger(tape, x, {-1}), Says("[ledger] index -1 of axis 0 is out of range"));
  CHECK_THROWS_WITH(ledger(tape, x, {0}, {.lines = 0}),
                    Says("[ledger] 0 lines were asked for; need at least 1"));
  CHECK_THROWS_WITH(ledger(tape, off, {0}), Says("backward brought no gradient to step"));
  CHECK_THROWS_WITH(ledger(tape, tensor({1, 2}), {0}), Says("is not on this tape"));
  const Ledger start = ledger(tape, loss, {});
  CHECK(start.given == 1);
  CHECK(start.lines.empty());
  CHECK(start.complete);

  Tape training{{.keep = Keep::leaves}};
  training.backward(sum(x * x));
  CHECK_THROWS_WITH(ledger(training, x, {0}), Says("[ledger] this tape frees what it held"));
}

TEST_CASE("a number read along several ways gets what all of them bring") {
  {
    const Tensor a = parameter(tensor(1.0, f64), "a");
    Tape tape;
    const Tensor b = a + a;
    const Tensor c = b + b;
    tape.backward(c);
    const Ledger found = ledger(tape, a, {}, {.lines = 6});
    CHECK(found.gradient == 4);
    CHECK(found.rest == 0);
    CHECK(std::ranges::count(found.lines, -1, &Ledger::Line::parent) == 2);
    CHECK(std::ranges::count(found.lines, false, &Ledger::Line::followed) == 4);
    for (const Ledger::Line& line : found.lines)
      if (!line.followed) CHECK(line.contribution() == 1);
  }
  {
    const Tensor x = parameter(tensor(2.0, f64), "x");
    Tape tape;
    const Tensor y = 3 * x;
    const Tensor twofold = 2 * y, fivefold = 5 * y;
    tape.backward(twofold + fivefold);
    const Ledger found = ledger(tape, x, {});
    CHECK(found.gradient == 21);
    CHECK(std::abs(listed(found) - 21) < 1e-12);
    CHECK(std::ranges::count(found.lines, tape.step_of(y), &Ledger::Line::step) == 1);
    const Ledger short_one = ledger(tape, y, {}, {.lines = 1});
    CHECK(short_one.lines.front().step == tape.step_of(fivefold));
    CHECK(short_one.rest == 2);
  }
}

TEST_CASE("a ledger in f32 adds up too") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Tape tape;
    const RandomGraph graph = random_graph(seed, 12, f32);
    tape.backward(graph.loss);
    for (const Tensor& x : graph.parameters) {
      if (!x.has_grad() || x.size() == 0) continue;
      const Ledger found = ledger(tape, x, index_of(x.shape(), x.size() - 1), {.lines = 2000});
      INFO("seed " << seed << '\n' << to_string(found));
      CHECK(std::abs(listed(found) - found.gradient) <= 1e-6 * scale_of(found));
      if (found.complete) CHECK(std::abs(found.rest) <= 1e-4 * scale_of(found));
    }
  }
}

TEST_CASE("a ledger leads to what is not finite first") {
  const Tensor x = parameter(tensor({1, 0, 4}), "x");
  Tape tape;
  const Tensor a = x * 1000, b = log(x);
  const Tensor c = b * tensor({1, 0, 1});
  const Tensor loss = sum(a + c);
  tape.backward(loss);
  const Ledger found = ledger(tape, x, {1}, {.lines = 1});
  CHECK(std::isnan(found.gradient));
  REQUIRE(found.lines.size() == 1);
  CHECK(found.lines[0].step == tape.step_of(b));
  CHECK(std::isnan(found.rest));
}

TEST_CASE("a ledger reads as it should") {
  const Tensor w = parameter(tensor({{1, 2}, {3, 0.5}}), "attend.query.weight");
  const Tensor sheet = named(tensor({{1, 0}, {2, 4}, {0.5, -1}, {0, 2}}), "sheet");
  Tape tape;
  Tensor want;
  {
    const Scope outer("attend"), inner("query");
    const Role role("query");
    want = matmul(sheet, w);
  }
  const Tensor kept = relu(want);
  const Tensor size = square(kept);
  const Tensor loss = mean(size);
  tape.backward(loss);
  std::string text = to_string(ledger(tape, w, {1, 0}, {.lines = 2}));
  text += '\n' + to_string(ledger(tape, w, {1, 0}, {.lines = 6}));
  text += '\n' + to_string(ledger(tape, w, {0, 1}, {.lines = 30, .glossary = Glossary::textbook}));
  text += '\n' + to_string(ledger(tape, loss, {}));
  CHECK(text == golden_text("ledger.txt"));
}
