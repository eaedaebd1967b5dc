#include <cmath>
#include <cstdio>
#include <limits>

#include "tests/catch.hpp"
#include "tests/inspect/dumped.hpp"

using namespace pencil;
using namespace pencil::tests;

TEST_CASE("a dump before backward reads as it should") {
  Small small;
  CHECK(dump(*small.tape) ==
        "tape: 5 steps, 1 parameter, f32, no backward yet\n"
        "#  word       name                 shape   from  value       BLAME\n"
        "0  constant   sheet                (2, 2)        [1     2]   –\n"
        "                                                 [0.333 4]\n"
        "1  WANT-grid  attend.query.weight  (2, 2)        [1 2  ]     no blame yet\n"
        "                                                 [3 4.5]\n"
        "2  WANT       attend.query         (2, 2)  0 1   [1      4]  no blame yet\n"
        "                                                 [0.999 18]\n"
        "3  twice                           (2, 2)  2     [2      8]  no blame yet\n"
        "                                                 [1.998 36]\n"
        "4  rounded                         (2, 2)  3     [2  8]      – blame ends here\n"
        "                                                 [1 36]\n");
}

TEST_CASE("a dump after backward shows the blame in each glossary") {
  Small small;
  small.backward();
  CHECK(dump(*small.tape, {.glossary = Glossary::textbook}) ==
        "tape: 5 steps, 1 parameter, f32, backward from step 3\n"
        "#  word                 name                 shape   from  value       gradient\n"
        "0  constant             sheet                (2, 2)        [1     2]   –\n"
        "                                                           [0.333 4]\n"
        "1  query weight matrix  attend.query.weight  (2, 2)        [1 2  ]     [0.25    0.5]\n"
        "                                                           [3 4.5]     [0.08325 1  ]\n"
        "2  query                attend.query         (2, 2)  0 1   [1      4]  [0.25 0.25]\n"
        "                                                           [0.999 18]  [0.25 0.25]\n"
        "3  twice                                     (2, 2)  2     [2      8]  [0.125 0.125]\n"
        "                                                           [1.998 36]  [0.125 0.125]\n"
        "4  rounded                                   (2, 2)  3     [2  8]      – gradient ends here\n"
        "                                                           [1 36]\n");
  CHECK_THAT(dump(*small.tape, {.glossary = Glossary::sketchbook}), Says("ask floor") && Says("leftover"));
}

TEST_CASE("a step shows its module path and its own name") {
  const Tensor x = parameter(tensor(1));
  Tape tape;
  const Scope scope("attend");
  (void)named(twice(x), "doubled");
  CHECK_THAT(line_of(dump(tape), 0), Says("dial   attend "));
  CHECK_THAT(line_of(dump(tape), 1), Says("twice  attend: doubled "));
}

TEST_CASE("settings and source lines are printed when asked for") {
  Small small;
  const std::string text = dump(*small.tape, {.lines = true, .settings = true});
  CHECK_THAT(line_of(text, 4), Says("to=1 axes=(0, 1) exact=true") && Says("dumped.hpp:"));
  CHECK_THAT(dump(*small.tape), !Says(".hpp:") && !Says("exact"));
}

TEST_CASE("a dump changes nothing and its bytes repeat") {
  Small plain, dumped;
  const std::string before = dump(*dumped.tape);
  CHECK(before == dump(*plain.tape));
  CHECK(before == dump(*dumped.tape));
  plain.backward();
  dumped.backward();
  CHECK(dumped.tape->size() == plain.tape->size());
  CHECK(dumped.w.version() == 0);
  CHECK(dumped.w.grad().to_vector() == plain.w.grad().to_vector());
  CHECK(dump(*dumped.tape) == dump(*plain.tape));
  (void)dump(*dumped.tape);
  CHECK(dumped.w.grad().to_vector() == plain.w.grad().to_vector());
}

TEST_CASE("a dump between a write in place and backward changes nothing either") {
  Small small;
  small.w.assign(zeros({2, 2}));
  const std::string text = dump(*small.tape);
  CHECK_THAT(text, Says("overwritten"));
  CHECK_THROWS_WITH(small.backward(), Says("was overwritten after the step read it"));
  CHECK_FALSE(small.w.has_grad());
}

TEST_CASE("a parameter written since shows where and which versions, never its new numbers") {
  Small small;
  small.backward();
  small.w.assign(full({2, 2}, 77));
  small.w.assign(full({2, 2}, 78));
  const std::string text = dump(*small.tape);
  CHECK_THAT(line_of(text, 1),
             Says("overwritten at test_dump.cpp:") && Says("version 0 → 2") && Says("[0.25"));
  CHECK_THAT(line_of(text, 2), Says("0 1 (version 0)"));
  CHECK_THAT(text, !Says("77") && !Says("78"));
}

TEST_CASE("a tape that frees as backward passes says so, and shows what its parameters collected") {
  Small small({.keep = Keep::leaves});
  CHECK_THAT(line_of(dump(*small.tape), 2), Says("[1      4]") && Says("no blame yet"));
  small.backward();
  const std::string text = dump(*small.tape);
  CHECK_THAT(text, Says("freed as backward passes"));
  CHECK_THAT(line_of(text, 1), Says("[0.25    0.5]"));
  CHECK_THAT(line_of(text, 2), Says("(2, 2)  0 1   freed") && Says("freed"));
  small.w.clear_grad();
  CHECK_THAT(line_of(dump(*small.tape), 1), Says("freed"));
}

TEST_CASE("plain numbers are not freed as backward passes") {
  const Tensor w = parameter(tensor({1, 2}), "w");
  Tape tape{{.keep = Keep::leaves}};
  const Tensor y = sum(0.25 * w);
  tape.backward(y);
  CHECK_THAT(line_of(dump(tape), 1), Says(" 0.25 0  ") || Says(" 0 0.25  "));
}

TEST_CASE("what backward did not pass, frozen, foreign and paused steps say so") {
  const Tensor w = parameter(tensor({1, 2}), "w"), frozen = parameter(tensor({3, 4}), "still");
  frozen.set_frozen(true);
  Tape outer;
  const Tensor other = twice(w);
  const Tape inner;
  const Tensor y = times(w, other);
  const Tensor aside = times(y, frozen);
  {
    const Tape::Pause pause;
    (void)twice(y);
  }
  Tape* tape = Tape::current();
  tape->backward(y, {.upstream = ones({2})});
  const std::string text = dump(inner);
  CHECK_THAT(line_of(text, 1), Says("foreign") && Says("[2 4]") && Says("– of another tape"));
  CHECK_THAT(line_of(text, 3), Says("still") && Says("– frozen"));
  CHECK_THAT(line_of(text, inner.step_of(aside)), Says("none came"));
  CHECK_THAT(line_of(text, 5),
             Says("paused") && Says("twice") && Says("not recorded") && Says("– blame ends here"));
}

TEST_CASE("steps of a recorded sweep say whose gradient they are") {
  const Tensor x = parameter(tensor(3), "x");
  Tape tape;
  const Tensor y = times(x, x);
  const std::vector<Tensor> dx = tape.gradient(y, {x}, {.record = true});
  CHECK(dx[0].item() == 6);
  const std::string text = dump(tape);
  CHECK_THAT(line_of(text, 1), Says("0 0"));
  CHECK_THAT(text, Says("(gradient of step 1)"));
  CHECK_THAT(line_of(text, tape.step_of(dx[0])), Says("accumulate"));
}

TEST_CASE("large tensors show first numbers, least, mean and largest, and count what is not finite") {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  Tape tape;
  const Tensor y = twice(arange(100, f64));
  std::vector<double> odd(40, 1.5);
  odd[7] = nan;
  odd[8] = odd[9] = -inf;
  const Tensor z = twice(tensor(odd, {5, 8}));
  const Tensor none = twice(tensor(std::vector<double>(20, nan), {20}));
  const std::vector<std::string> lines = lines_of(dump(tape));
  const auto after = [&](const Tensor& x, std::size_t n) {
    const std::string line = line_of(dump(tape), tape.step_of(x));
    return *(std::ranges::find(lines, line) + static_cast<std::ptrdiff_t>(n));
  };
  CHECK_THAT(after(y, 0), Says("0 2 4 …"));
  CHECK_THAT(after(y, 1), Says("least 0 mean 99 largest 198"));
  CHECK_THAT(after(z, 0), Says("3 3 3 …"));
  CHECK_THAT(after(z, 1), Says("least 3 mean 3 largest 3 1 nan 2 inf"));
  CHECK_THAT(after(none, 1), Says(" 20 nan"));
  CHECK_THAT(line_of(dump(tape, {.whole = 40}), tape.step_of(z)), Says("[   3    3 3 3 3 3 3 nan]"));
}

TEST_CASE("empty tensors, single numbers and an empty tape are printed") {
  Tape tape;
  CHECK(dump(tape) ==
        "tape: 0 steps, 0 parameters, no backward yet\n"
        "#  word  name  shape  from  value  BLAME\n");
  (void)twice(zeros({0, 3}));
  (void)twice(tensor(0.1));
  CHECK_THAT(line_of(dump(tape), 1), Says("(0, 3)  0     []"));
  CHECK_THAT(line_of(dump(tape), 3), Says("()      2     0.2"));
}

TEST_CASE("no name breaks a line") {
  const Tensor x = parameter(tensor(1), "two\nlines\t\x1b[31m \"quoted\" \\ 🎬");
  Tape tape;
  (void)twice(x);
  CHECK(lines_of(dump(tape)).size() == 4);
  CHECK_THAT(dump(tape), Says(R"(two\nlines\t\x1b[31m "quoted" \ 🎬)"));
}

TEST_CASE("many inputs are shortened, and rows of numbers joined") {
  static const Op first{"first", {.forward = [](Inputs in, const Attributes&) { return Computed(in[0]); }}};
  Tape tape;
  std::vector<Tensor> inputs;
  for (int i = 0; i < 100; ++i) inputs.push_back(tensor(i));
  (void)apply(first, inputs, {}, Where::current());
  std::vector<Tensor> mixed;
  for (int i = 0; i < 40; ++i) mixed.push_back(inputs[static_cast<std::size_t>(i % 2 ? i : 99 - i)]);
  (void)apply(first, mixed, {}, Where::current());
  CHECK_THAT(line_of(dump(tape), 100), Says("  0…99  "));
  CHECK_THAT(line_of(dump(tape), 101), Says("  99 1 97 3 95 5 93 7 … 32 more  "));
}

TEST_CASE("a dump comes in pieces, to a file, and through fmt, with the same bytes") {
  const Tensor w = parameter(tensor({1, 2}), "w");
  Tape tape;
  Tensor y = w;
  for (int i = 0; i < 3000; ++i) y = twice(y);
  const std::string whole = dump(tape);
  CHECK(lines_of(whole).size() == 3003);
  std::string joined;
  int pieces = 0;
  dump(tape, {}, [&](std::string_view piece) {
    joined += piece;
    ++pieces;
  });
  CHECK(joined == whole);
  CHECK(pieces > 1);
  CHECK(fmt::format("{}", tape) == whole);
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  dump(file, tape);
  CHECK(static_cast<std::size_t>(std::ftell(file)) == whole.size());
  std::fclose(file);
}

TEST_CASE("a file that cannot be written is an error") {
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  std::setvbuf(full, nullptr, _IONBF, 0);
  const Tape tape;
  CHECK_THROWS_WITH(dump(full, tape), Says("[dump] the file could not be written"));
  std::fclose(full);
}

TEST_CASE("a million steps are dumped") {
  const Tensor w = parameter(tensor(1), "w");
  Tape tape;
  Tensor y = w;
  while (tape.size() < 1'000'000) y = times(y, w);
  std::size_t lines = 0;
  dump(tape, {},
       [&](std::string_view piece) { lines += static_cast<std::size_t>(std::ranges::count(piece, '\n')); });
  CHECK(lines == static_cast<std::size_t>(tape.size()) + 2);
}
