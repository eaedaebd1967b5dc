#include "autograd/inspect/cells.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/dumped.hpp"

using namespace pencil;
using namespace pencil::tests;

TEST_CASE("columns are printed when they are wanted") {
  Small small;
  small.backward();
  const std::string bare = dump(*small.tape, {.shape = false, .value = false, .blame = false});
  CHECK(bare ==
        "tape: 5 steps, 1 parameter, f32, backward from step 3\n"
        "#  word       name                 from\n"
        "0  constant   sheet\n"
        "1  WANT-grid  attend.query.weight\n"
        "2  WANT       attend.query         0 1\n"
        "3  twice                           2\n"
        "4  rounded                         3\n");
  CHECK_THAT(dump(*small.tape, {.shape = false, .blame = false}), Says("from  value\n"));
}

TEST_CASE("bytes are of value, saved tensors and blame, and shared memory counts once") {
  const Tensor w = parameter(zeros({10}), "w");
  Tape tape;
  Tensor x = 2 * w;               // 40 bytes, and 4 of the 2
  Tensor y = reshape(x, {5, 2});  // the same
  Tensor loss = sum(y);
  const auto bytes = [&](int step) {
    const std::string line =
        line_of(dump(tape, {.shape = false, .value = false, .blame = false, .bytes = true}), step);
    return line.substr(line.find_last_of(' ') + 1);
  };
  CHECK(bytes(tape.step_of(w)) == "40");
  CHECK(bytes(tape.step_of(x)) == "44");
  CHECK(bytes(tape.step_of(y)) == "0");
  CHECK(bytes(tape.step_of(loss)) == "4");
  tape.backward(loss);
  CHECK(bytes(tape.step_of(loss)) == "8");
}

TEST_CASE("what a rule saved counts among its step's bytes, until it is freed") {
  static const Op saves{"saves",
                        {.forward =
                             [](Inputs in, const Attributes&) {
                               return Computed(zeros({3}), {zeros({100}), in[0]});
                             },
                         .rule = [](const Step&, const Tensor&, Needs) { return Gradients{zeros({2})}; }}};
  const Tensor w = parameter(tensor({1, 2}), "w");
  Tape tape{{.keep = Keep::leaves}};
  Tensor y = apply(saves, {w});
  const DumpOptions options{.shape = false, .value = false, .blame = false, .bytes = true};
  CHECK_THAT(line_of(dump(tape, options), 1), Says(" 412"));
  tape.backward(y, {.upstream = ones({3})});
  CHECK_THAT(line_of(dump(tape, options), 1), Says("  0") && !Says("412"));
}

TEST_CASE("times are printed only when asked for and measured") {
  const auto run = [](bool time) {
    const Tensor w = parameter(tensor({1, 2}), "w");
    Tape tape{{.time = time}};
    Tensor y = twice(w);
    tape.backward(y, {.upstream = ones({2})});
    return std::pair(dump(tape), dump(tape, {.value = false, .blame = false, .time = true}));
  };
  const auto [plain, asked] = run(false);
  CHECK_THAT(asked, Says("from  forward µs  backward µs\n"));
  CHECK_THAT(line_of(asked, 1), Says("–            –"));
  const auto [timed_plain, timed] = run(true);
  CHECK(timed_plain == plain);
  CHECK_THAT(line_of(timed, 0), Says("–            –"));
  CHECK_THAT(line_of(timed, 1), !Says("–") && Says("."));
}

TEST_CASE("settings that are too long for a line take several, and move no other column") {
  static const Op op{"op", {.forward = [](Inputs in, const Attributes&) { return Computed(in[0]); }}};
  Tape tape;
  (void)apply(op, {tensor({1, 2})},
              {{"transpose_left", false}, {"transpose_right", true}, {"of", std::string("a\nb")}});
  CHECK(dump(tape, {.settings = true}) ==
        "tape: 2 steps, 0 parameters, f32, no backward yet\n"
        "#  word      name  shape  from  settings                      value  BLAME\n"
        "0  constant        (2)                                        [1 2]  –\n"
        "1  op              (2)    0     transpose_left=false          [1 2]  – blame ends here\n"
        "                                transpose_right=true of=a\\nb\n");
}

TEST_CASE("lines are cut at a width, between characters") {
  const Tensor x = parameter(tensor(1), "🎬🎬🎬🎬🎬🎬🎬🎬🎬🎬🎬🎬");
  Tape tape;
  (void)twice(x);
  CHECK(dump(tape, {.width = 20}) ==
        "tape: 2 steps, 1 pa…\n"
        "#  word   name     …\n"
        "0  dial   🎬🎬🎬🎬🎬🎬🎬🎬🎬…\n"
        "1  twice           …\n");
  const std::string whole = dump(tape);
  std::size_t widest = 0;
  for (const std::string& line : lines_of(whole)) widest = std::max(widest, inspect::width_of(line));
  CHECK(dump(tape, {.width = static_cast<int>(widest)}) == whole);
  CHECK(dump(tape, {.width = static_cast<int>(widest) - 1}) != whole);
  CHECK_THROWS_WITH(dump(tape, {.width = -1}), Says("[dump] .width is -1; need the columns a line may take"));
}
