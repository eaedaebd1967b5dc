// What `explain` says of a number, in the documents' manner.

#include "autograd/arithmetic.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/calculator.hpp"
#include "tests/inspect/support.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// The first document's Case 1: nolan looks at both words.
struct Nolan {
  Tensor embed = parameter(tensor({2, 1, 1, 0}), "nolan.embed");
  Tensor grid = parameter(tensor({{1, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 0}}), "WANT.weight");
  Tensor have = named(tensor({{1, 0, 0, 0}, {3, 0, 2, 0}}), "HAVE");
  Tensor give = named(tensor({{2, 0, 0, 1}, {0, 3, 1, 0}}), "GIVE");
  Tape tape;
  Tensor want, scores, scaled, fractions, stick;

  Nolan() {
    {
      const Role role("query");
      want = matmul(grid, embed);
    }
    {
      const Role role("scores");
      scores = matmul(want, have, {.transpose_right = true});
    }
    {
      const Role role("scale");
      scaled = scores / 2;
    }
    {
      const Role role("weights");
      fractions = softmax(scaled);
    }
    const Role role("mix");
    stick = matmul(fractions, give);
  }
};

std::string last_line(const Explanation& explanation) {
  return explanation.blocks.back().lines.back().arithmetic;
}

std::string arithmetic(const Tape& tape, const Tensor& x, std::vector<std::int64_t> index,
                       const ExplainOptions& options = {}) {
  return last_line(explained(tape, tape.step_of(x), index, options));
}

}  // namespace

TEST_CASE("the first document's numbers, explained with a pencil, match it step by step") {
  const Nolan nolan;
  const std::string text =
      explain(nolan.tape, nolan.stick, {}, {.depth = ExplainOptions::to_the_leaves, .pencil = true});
  CHECK(text == golden_text("explain_nolan.txt"));
  for (const char* step :
       {"1*2 + 0*1 + 0*1 + 0*0 = 2", "2*1 + 0*0 + 1*0 + 0*0 = 2", "2*3 + 0*0 + 1*2 + 0*0 = 8", "2 / 2 = 1",
        "8 / 2 = 4", "e^1 = 2.718", "e^4 = 54.60", "2.718 + 54.60 = 57.32", "2.718 / 57.32 = 0.047",
        "54.60 / 57.32 = 0.953", "0.047*[2, 0, 0, 1] + 0.953*[0, 3, 1, 0] = [0.094, 2.859, 0.953, 0.047]"})
    CHECK_THAT(text, Says(step));
}

TEST_CASE("fused attention is explained through its steps, and rounded the same with a pencil") {
  const Nolan nolan;
  Tape tape;
  const Tensor want = reshape(nolan.want, {1, 4});
  const Tensor stick = attention(want, nolan.have, nolan.give);
  CHECK(explain(tape, stick, {0, 1}, {.pencil = true}) ==
        "step 4: NEW STICK [0, 1]\n"
        "    MATCH         2*1 + 0*0 + 1*0 + 0*0 = 2\n"
        "    MATCH         2*3 + 0*0 + 1*2 + 0*0 = 8\n"
        "    SCALE         2 / 2 = 1\n"
        "    SCALE         8 / 2 = 4\n"
        "    BLOW UP BY e  e^1 = 2.718\n"
        "    BLOW UP BY e  e^4 = 54.60\n"
        "    TOTAL         2.718 + 54.60 = 57.32\n"
        "    FRACTIONS     2.718 / 57.32 = 0.047\n"
        "    FRACTIONS     54.60 / 57.32 = 0.953\n"
        "                  0.047*0 + 0.953*3 = 2.859\n"
        "    (computed as e^(x − 4))\n"
        "    from reshape [0, 0…3] (step 1), constant HAVE [0…1, 0…3] (step 2), constant GIVE [0…1, 1] (step "
        "3)\n");
  CHECK(arithmetic(tape, stick, {0}) ==
        "0.0474259*[2, 0, 0, 1] + 0.952574*[0, 3, 1, 0] = [0.0948517, 2.85772, 0.952574, 0.0474259]");
}

TEST_CASE("numbers are followed down to a depth, each once and before it is used") {
  const Tensor x = parameter(tensor({3, 4}), "x");
  Tape tape;
  const Tensor y = x + 1;
  const Tensor z = y * y;
  const Tensor w = sum(z);
  const std::string one = explain(tape, w, {});
  CHECK(one == "step 3: sum\n    16 + 25 = 41\n    from mul [0…1] (step 2)\n");
  CHECK(explain(tape, w, {}, {.depth = 2}) ==
        "step 2: mul [0]\n    4*4 = 16\n    from add [0] (step 1)\n"
        "step 2: mul [1]\n    5*5 = 25\n    from add [1] (step 1)\n" +
            one);
  const Explanation all = explained(tape, tape.step_of(w), {}, {.depth = 3});
  CHECK(all.blocks.size() == 5);
  CHECK(all.blocks[0].title == "step 1: add [0]");
  CHECK(all.blocks[0].from == "from dial x [0] (step 0)");
  CHECK(to_string(all) == explain(tape, w, {}, {.depth = ExplainOptions::to_the_leaves}));
}

TEST_CASE("long sums are shortened, and what is left out is counted and summed") {
  Tape tape;
  const Tensor y = sum(arange(100));
  CHECK(arithmetic(tape, y, {}) == "0 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + … 92 more terms that sum to 4922 = 4950");
  CHECK(arithmetic(tape, y, {}, {.terms = 2}) == "0 + 1 + … 98 more terms that sum to 4949 = 4950");
  CHECK(arithmetic(tape, y, {}, {.terms = 99}).find("…") == std::string::npos);
  CHECK_THAT(explain(tape, y, {}), Says("from constant [0…7] (step 0)"));
}

TEST_CASE("a chain of 100,000 steps is followed without recursion") {
  Tensor x = parameter(tensor(1), "x");
  Tape tape;
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = -y;
  const Explanation all = explained(tape, tape.step_of(y), {}, {.depth = ExplainOptions::to_the_leaves});
  CHECK(all.blocks.size() == 100'000);
  CHECK(all.blocks[0].lines[0].arithmetic == "-1");
  CHECK(all.blocks[99'999].lines[0].arithmetic == "-(-1) = 1");
}

TEST_CASE("a long sum within one formula is no recursion either") {
  const Op chain{"chain",
                 {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * 200'000); },
                  .explain =
                      [](Worksheet& sheet, std::int64_t element) {
                        const Worked x = sheet.input(0, element);
                        Worked y = x;
                        for (int i = 1; i < 100'000; ++i) y = y + x;
                        for (int i = 0; i < 100'000; ++i) y = y - (0 - x);
                        return y;
                      }}};
  Tape tape;
  const Tensor y = apply(chain, {tensor(1, f64)});
  CHECK(arithmetic(tape, y, {}).size() > 100'000);
}

TEST_CASE("explaining changes nothing, whatever is going on around it") {
  Nolan nolan;
  const Tensor fused = attention(unsqueeze(nolan.want, 0), nolan.have, nolan.give);
  const Tensor loss = sum(fused);
  const std::string before = dump(nolan.tape, {.lines = true, .settings = true});
  const auto explain_all = [&] {
    for (int i = 0; i < nolan.tape.size(); ++i) {
      const std::vector<std::int64_t> index(static_cast<std::size_t>(nolan.tape.step(i).shape().rank()), 0);
      (void)explain(nolan.tape, i, index, {.depth = 9, .pencil = i % 2 == 0});
    }
  };
  explain_all();
  std::string plain = explain(nolan.tape, fused, {0, 1});
  {
    const Role role("loss");
    const Scope scope("elsewhere");
    CHECK(explain(nolan.tape, fused, {0, 1}) == plain);
  }
  {
    const Tape::Pause pause;
    CHECK(explain(nolan.tape, fused, {0, 1}) == plain);
    explain_all();
  }
  CHECK(dump(nolan.tape, {.lines = true, .settings = true}) == before);
  nolan.tape.backward(loss);
  const std::string after = dump(nolan.tape);
  explain_all();
  CHECK(dump(nolan.tape) == after);
  CHECK(explain(nolan.tape, fused, {0, 1}) == plain);
}

TEST_CASE("what is used more than once is written once, on a line of its own") {
  Tape tape;
  const Tensor y = sigmoid(tensor({2, -2, 0.5}));
  const int step = tape.step_of(y);
  CHECK(explain(tape, step, {1}) ==
        "step 1: crush to 0..1 [1]\n"
        "    e^(-2) = 0.135335, for -2 <= 0\n"
        "    0.135335 / (1 + 0.135335) = 0.119203, for -2 <= 0\n"
        "    from constant [1] (step 0)\n");
  CHECK(arithmetic(tape, y, {0}) == "1 / (1 + e^(-2)) = 0.880797, for 2 > 0");
}

TEST_CASE("a choice says which branch it took, and why") {
  Tape tape;
  const Tensor x = tensor({-3, 3, std::nan("")});
  const Tensor y = relu(x);
  const Tensor z = clamp(x, -1, 2);
  CHECK(arithmetic(tape, y, {0}) == "0, for -3 <= 0");
  CHECK(arithmetic(tape, y, {1}) == "3, for 3 > 0");
  CHECK(arithmetic(tape, y, {2}) == "nan, for not nan <= 0");
  CHECK(arithmetic(tape, z, {0}) == "-1, for -3 < -1");
  CHECK_THAT(explain(tape, y, {}), Says("[0]  0, for -3 <= 0\n") && Says("[1]  3, for 3 > 0\n"));
  const Tensor less = less_equal(x, 3);
  CHECK(arithmetic(tape, less, {1}) == "1, for 3 <= 3");
}

TEST_CASE("a formula of one's own prints its own arithmetic, and so does its derivative") {
  const auto swish = elementwise("swish", [](auto x) { return x / (1 + exp(-x)); });
  const Tensor x = parameter(tensor({2, -1}), "x");
  Tape tape;
  const Tensor y = swish(x);
  CHECK(arithmetic(tape, y, {0}) == "2 / (1 + e^(-2)) = 1.76159");
  CHECK(arithmetic(tape, y, {}) == "[2, -1] / (1 + e^(-[2, -1])) = [1.76159, -0.268941]");
  const Tensor dx = tape.gradient(y, {x}, {.upstream = ones({2}), .record = true})[0];
  int derivative = -1;
  for (int i = 0; i < tape.size(); ++i)
    if (tape.step(i).word().starts_with("d swish")) derivative = i;
  REQUIRE(derivative >= 0);
  const Checked checked = evaluated(last_line(explained(tape, derivative, std::vector<std::int64_t>{0})), {});
  CHECK(agrees(checked, {.digits = 5}));
  CHECK(dx.defined());
}

TEST_CASE("an op made by hand says its arithmetic, or that it does not") {
  const Op cube{"cube",
                {.forward = [](Inputs in,
                               const Attributes&) { return Computed(product(in[0], product(in[0], in[0]))); },
                 .explain =
                     [](Worksheet& sheet, std::int64_t element) {
                       const Worked x = sheet.input(0, element);
                       return pow(x, 3);
                     }}};
  Tape tape;
  const Tensor x = tensor({{1, 2}, {-3, 4}});
  const Tensor y = apply(cube, {x});
  CHECK(arithmetic(tape, y, {1, 0}) == "(-3)^3 = -27");
  const Tensor silent = times(y, x);
  CHECK(explain(tape, silent, {0, 1}) ==
        "step 2: times [0, 1]\n"
        "    16: times does not say how it computes; its inputs are of shapes (2, 2), (2, 2)\n");
  CHECK(arithmetic(tape, silent, {1}) ==
        "[81, 256]: times does not say how it computes; its inputs are of shapes (2, 2), (2, 2)");
}

TEST_CASE("an op that is composed of others is explained through them") {
  const Op composed{"distance",
                    {.forward = [](Inputs in, const Attributes&) { return Computed(norm(in[0] - in[1])); },
                     .composed =
                         [](Inputs in, const Attributes&) {
                           const Tensor apart = in[0] - in[1];
                           const Tensor row = reshape(apart, {1, 2});
                           return reshape(norm(row), {});
                         }}};
  const Op as_it_is{"as_it_is",
                    {.forward = [](Inputs in, const Attributes&) { return Computed(copy(in[0])); },
                     .composed = [](Inputs in, const Attributes&) { return in[0]; }}};
  const Op hidden{"hidden",
                  {.forward = [](Inputs in, const Attributes&) { return Computed(product(in[0], in[0])); },
                   .composed = [](Inputs in, const Attributes&) { return 1 + times(in[0], in[0]); }}};
  Tape tape;
  const Tensor a = tensor({1, 2}), b = tensor({4, 6});
  const Tensor y = apply(composed, {a, b});
  CHECK(explain(tape, y, {}) ==
        "step 2: distance\n"
        "    sub [0]  1 - 4 = -3\n"
        "    sub [1]  2 - 6 = -4\n"
        "             sqrt((-3)^2 + (-4)^2) = 5\n"
        "    from constant [0…1] (step 0), constant [0…1] (step 1)\n");
  const Tensor z = apply(as_it_is, {a});
  CHECK(arithmetic(tape, z, {1}) == "2");
  const Tensor h = apply(hidden, {b});
  CHECK_THAT(explain(tape, h, {1}), Says("1 + 36 = 37 (in f32: 36)") && Says("times does not say"));
}

TEST_CASE("leaves, marks, paused and freed steps say what they are") {
  const Tensor w = parameter(tensor({1, 2.5}), "w"), still = parameter(tensor(7), "still");
  still.set_frozen(true);
  Tape outer;
  const Tensor other = w * 2;
  Tape tape{{.keep = Keep::leaves}};
  const Tensor y = w * other;
  const Tensor z = y * still;
  const Tensor mark = greater(z, 20);
  {
    const Tape::Pause pause;
    (void)(z + 1);
  }
  CHECK(explain(tape, w, {1}) == "step 0: dial w [1]\n    2.5, a dial, moved by the optimizer\n");
  CHECK_THAT(explain(tape, w, {1}, {.glossary = Glossary::textbook}), Says("2.5, a parameter, moved"));
  CHECK(arithmetic(tape, w, {}) == "[1, 2.5], a dial, moved by the optimizer");
  CHECK(arithmetic(tape, still, {}) == "7, a dial, frozen");
  CHECK(last_line(explained(tape, 1, std::vector<std::int64_t>{0})) ==
        "2, computed on another tape: a constant here");
  CHECK(arithmetic(tape, mark, {1}) == "1, for 87.5 > 20");
  const int paused = tape.size() - 1;
  REQUIRE(tape.step(paused).kind() == StepKind::paused);
  CHECK(last_line(explained(tape, paused, std::vector<std::int64_t>{0})) ==
        "not recorded: add ran under Tape::Pause");
  tape.backward(sum(z));
  CHECK_THAT(explain(tape, 2, {1}),
             Says("the output of mul was freed as backward passed; Keep::all keeps it") ||
                 Says("freed as backward passed; Keep::all keeps it"));
}

TEST_CASE("a step whose parameter was written since says so instead of wrong arithmetic") {
  Tensor w = parameter(tensor({1, 2}), "w");
  Tape tape;
  const Tensor y = w * 3;
  w.assign(tensor({70, 80}));
  const std::string text = explain(tape, y, {1});
  CHECK_THAT(text, Says("6; its arithmetic is gone: input 0 of mul, parameter 'w', was overwritten at "
                        "test_explain.cpp:") &&
                       Says("version 0 → 1"));
  CHECK_THAT(text, !Says("80"));
}

TEST_CASE("wide rows are shortened, and a row whose numbers differ in kind stands one below the other") {
  Tape tape;
  const Tensor y = arange(30) * 2;
  CHECK(arithmetic(tape, y, {}, {.numbers = 3}) == "[0, 1, 2, … 27 more]*2 = [0, 2, 4, … 27 more]");
  const Tensor x = tensor({{1, 2}, {3, 5}});
  const Tensor f = softmax(x);
  CHECK_THAT(explain(tape, f, {1}, {.pencil = true}), Says("TOTAL         20.09 + 148.4 = 168.5\n") &&
                                                          Says("[20.09, 148.4] / 168.5 = [0.119, 0.881]\n"));
  const Tensor positive = relu(arange(-1, 9, 2));
  CHECK_THAT(explain(tape, positive, {}, {.numbers = 2}),
             Says("[0]  0, for -1 <= 0\n    [1]  1, for 1 > 0\n    (… 3 more numbers)\n"));
  CHECK(arithmetic(tape, relu(tensor({-1, -2})), {}) == "[0, 0], for [-1, -2] <= 0");
  const Tensor none = zeros({2, 0}) * 1.5;
  CHECK(arithmetic(tape, none, {1}) == "the row holds no number");
}

TEST_CASE("what f32 rounds away is said where it shows") {
  const auto there_and_back = elementwise("there_and_back", [](auto a, auto b) { return (a + b) - a; });
  Tape tape;
  const Tensor y = there_and_back(tensor({1e8, 1}), tensor({4, 0.1}));
  CHECK(arithmetic(tape, y, {0}) == "1e+08 + 4 - 1e+08 = 4 (in f32: 0)");
  CHECK(arithmetic(tape, y, {1}) == "1 + 0.1 - 1 = 0.100000");
}

TEST_CASE("an index that is not there, a step that is not and a tensor of no tape are errors") {
  Tape tape;
  const Tensor y = tensor({{1, 2}, {3, 4}}) * 2;
  CHECK(explain(tape, y, {-1, -2}) == explain(tape, y, {1, 0}));
  CHECK_THROWS_WITH(
      explain(tape, y, {}),
      Says("[explain] step 1 (mul) has shape (2, 2); need 2 indices for one number or 1 for a row, got 0"));
  CHECK_THROWS_WITH(explain(tape, y, {0, 2}), Says("index 2 is not on axis 1, which has 2 places"));
  CHECK_THROWS_WITH(explain(tape, y, {-3, 0}), Says("index -3 is not on axis 0"));
  CHECK_THROWS_WITH(explain(tape, 9, {0}), Says("there is no step 9"));
  CHECK_THROWS_WITH(explain(tape, tensor({1, 2}), {0}),
                    Says("[explain] the tensor of shape (2) is not on this tape"));
}
