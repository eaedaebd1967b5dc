// Modules folded into lines, and repeats rolled up.

#include "autograd/inspect/cells.hpp"
#include "autograd/inspect/fold.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/dumped.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// A line in few words: "3…8 layers ×2", a repeat with what is below it in brackets.
std::string outline(const Tape& tape, int depth, const DumpFilter& filter = {}) {
  const std::vector<int> shown = inspect::selected(tape, filter, Glossary::textbook);
  std::string text;
  std::vector<int> open;  // lines still to come in each bracket
  for (const inspect::Line& line : inspect::lines_of(tape, shown, depth)) {
    const Step step = tape.step(shown[static_cast<std::size_t>(line.last)]);
    text += text.empty() || text.back() == '[' ? "" : " ";
    if (line.kind == inspect::Line::module)
      text += fmt::format("{}({})", inspect::module_of(step.path(), depth), line.steps_each_time());
    else if (line.kind == inspect::Line::step)
      text += step.word();
    if (line.times > 1) text += fmt::format("×{}", line.times);
    for (int& left : open) --left;
    if (line.kind == inspect::Line::repeat) {
      text += '[';
      open.push_back(line.below);
    }
    for (; !open.empty() && open.back() == 0; open.pop_back()) text += ']';
  }
  return text;
}

// One layer of a scoped loop: two steps in "layers.I.inner", one in "layers.I".
Tensor layer(const Tensor& x, int i) {
  const Scope outer("layers"), own(std::to_string(i));
  Tensor y;
  {
    const Scope inner("inner");
    y = times(x, parameter(tensor({1, 0.5}), fmt::format("layers.{}.inner.weight", i)));
  }
  return twice(y);
}

void check_size(const std::string& text) {
  const std::vector<std::string> lines = lines_of(text);
  CHECK(lines.size() <= 50);
  for (const std::string& line : lines) CHECK(inspect::width_of(line) <= 120);
}

}  // namespace

TEST_CASE("steps of a module come together, as deep as told") {
  Tape tape;
  Tensor x = tensor({1, 2});
  for (int i = 0; i < 3; ++i) x = layer(x, i);
  (void)rounded(x);
  CHECK(outline(tape, 0) ==
        "constant parameter times twice parameter times twice parameter times twice rounded");
  CHECK(outline(tape, 1) == "constant layers(9) rounded");
  CHECK(outline(tape, 2) == "constant layers.2(3)×3 rounded");
  CHECK(outline(tape, 3) == "constant ×3[layers.2.inner(2) twice] rounded");
  CHECK(outline(tape, 4) == "constant ×3[parameter times twice] rounded");
}

TEST_CASE("a loop without modules is rolled up") {
  const Tensor w = parameter(tensor(0.5), "w");
  Tape tape;
  Tensor h = tensor(1);
  for (int i = 0; i < 5; ++i) h = twice(times(twice(h), w));
  CHECK(outline(tape, 1) == "constant twice parameter times ×4[twice×2 times] twice");
}

TEST_CASE("repeats stand in repeats") {
  Tape tape;
  Tensor h = tensor(1);
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 3; ++k) h = rounded(twice(h));
    h = times(h, h);
  }
  CHECK(outline(tape, 1) == "constant ×4[×3[twice rounded] times]");
  CHECK_THAT(dump(tape, {.fold = 1}), Says("× 4\n") && Says("    × 3\n") && Says("      twice "));
}

TEST_CASE("only what is alike is rolled up") {
  const auto outline_of = [](const std::function<Tensor(const Tensor&, int)>& turn) {
    Tape tape;
    Tensor h = tensor({1, 2});
    for (int i = 0; i < 3; ++i) h = turn(h, i);
    return outline(tape, 1);
  };
  CHECK(outline_of([](const Tensor& h, int) { return twice(h); }) == "constant twice×3");
  CHECK(outline_of([](const Tensor& h, int i) { return i == 1 ? rounded(h) : twice(h); }) ==
        "constant twice rounded twice");
  CHECK(outline_of([](const Tensor& h, int i) {
          const Role role(i == 1 ? "key" : "query");
          return twice(h);
        }) == "constant twice twice twice");
  CHECK(outline_of([](const Tensor& h, int i) { return named(twice(h), fmt::format("h{}", i)); }) ==
        "constant twice×3");
  CHECK(outline_of([](const Tensor& h, int i) { return named(twice(h), i == 1 ? "a" : "b"); }) ==
        "constant twice twice twice");
  CHECK(outline_of([](const Tensor& h, int i) {
          return sum(twice(i == 2 ? tensor({1, 2, 3}) : h));
        }) == "constant twice sum twice sum constant twice sum");
}

TEST_CASE("what reads from elsewhere is not rolled up") {
  Tape tape;
  const Tensor a = twice(tensor(1));
  const Tensor b = twice(a);
  const Tensor c = twice(b);
  (void)times(c, a);
  (void)times(c, b);  // the same c, and one step on
  (void)times(c, a);
  (void)times(a, a);
  CHECK(outline(tape, 1) == "constant twice×3 times×2 times times");
}

TEST_CASE("a loop that reads what lies further and further back, or what a loop before made, is rolled up") {
  Tape tape;
  const Tensor first = twice(tensor(1));
  std::vector<Tensor> made;
  for (int i = 0; i < 6; ++i) made.push_back(rounded(first));
  Tensor h = first;
  for (int i = 0; i < 6; ++i) h = times(twice(h), made[static_cast<std::size_t>(i)]);
  CHECK(outline(tape, 1) == "constant twice rounded×6 twice ×5[times twice] times");
  h = first;
  for (int i = 5; i >= 0; --i) h = times(twice(h), made[static_cast<std::size_t>(i)]);
  CHECK(outline(tape, 1, {.steps = StepRange{20, 99}}) == "twice ×5[times twice] times");
}

TEST_CASE("a recorded sweep over a loop is rolled up as the loop is") {
  const Tensor w = parameter(tensor(0.5), "w");
  Tape tape;
  Tensor h = w;
  for (int i = 0; i < 50; ++i) h = times(twice(h), w);
  (void)tape.gradient(h, {w}, {.record = true});
  CHECK(tape.size() > 200);
  CHECK(lines_of(dump(tape, {.fold = 1})).size() < 25);
}

TEST_CASE("a filter's steps are folded as they are shown") {
  Tape tape;
  Tensor x = tensor({1, 2});
  for (int i = 0; i < 4; ++i) x = layer(x, i);
  CHECK(outline(tape, 2, {.word = "twice"}) == "layers.3(1)×4");
  CHECK(outline(tape, 1, {.steps = StepRange{2, 8}}) == "layers(7)");
}

TEST_CASE("a folded dump reads as it should") {
  Tape tape;
  Tensor x = named(tensor({4, 2}), "x");
  for (int i = 0; i < 12; ++i) x = layer(x, i);
  const Tensor w = parameter(tensor({0.5, 0.5}), "w");
  for (int i = 0; i < 100; ++i) x = times(twice(x), w);
  tape.backward(x, {.upstream = tensor({1, 2})});
  std::string text;
  for (const int depth : {1, 2, 3}) text += dump(tape, {.bytes = true, .fold = depth, .width = 120}) + "\n";
  CHECK(text == golden_text("dump_folded.txt"));
  check_size(text);
}

TEST_CASE("a folded line speaks of its last step, and sums up bytes") {
  Tape tape;
  Tensor x = tensor({1, 2});
  for (int i = 0; i < 3; ++i) x = layer(x, i);
  const std::string text = dump(tape, {.bytes = true, .fold = 2});
  CHECK_THAT(text, Says("1…9  3 steps × 3  layers.0 … layers.2  (2)    6     [8 2]"));
  CHECK_THAT(text, Says("no blame yet     72\n"));
  CHECK_THROWS_WITH(dump(tape, {.fold = -1}),
                    Says("[dump] .fold is -1; need the depth of the modules to fold"));
}

TEST_CASE("a scoped loop of 100,000 steps fits 50 lines of 120 columns") {
  Tape tape;
  Tensor x = tensor({1, 2});
  for (int i = 0; tape.size() < 100'000; ++i) x = layer(x, i);
  for (const int depth : {1, 2, 3, 4}) check_size(dump(tape, {.bytes = true, .fold = depth, .width = 120}));
}

TEST_CASE("an unscoped loop of 100,000 steps fits 50 lines of 120 columns") {
  const Tensor w = parameter(tensor({0.9, 0.5}), "w"), b = parameter(tensor({0.1, -0.1}), "b");
  Tape tape;
  Tensor h = tensor({0.5, 0.25});
  while (tape.size() < 100'000) {
    const Tensor m = h * w;
    const Tensor a = m + b;
    h = tanh(a);
  }
  tape.backward(h, {.upstream = ones({2})});
  const std::string text = dump(tape, {.settings = true, .bytes = true, .fold = 1, .width = 120});
  check_size(text);
  CHECK_THAT(text, Says("× 33332"));
}

TEST_CASE("folding irregular tapes stays linear") {
  // A block of 1,000 steps that repeats but for one step, so that every place looks like a repeat for long.
  Rng rng{7};
  Tape tape;
  std::vector<Tensor> all{tensor(1)};
  while (all.size() < 200'000) {
    const Tensor& h = all.back();
    const bool odd = all.size() % 1000 == 500;
    all.push_back(odd ? times(h, all[rng.below(all.size())]) : all.size() % 3 ? twice(h) : rounded(h));
  }
  std::vector<int> shown(static_cast<std::size_t>(tape.size()));
  for (std::size_t i = 0; i < shown.size(); ++i) shown[i] = static_cast<int>(i);
  CHECK(inspect::lines_of(tape, shown, 1).size() < 3000);
}
