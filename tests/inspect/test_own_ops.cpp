// A user's op has everything that a built-in one has: it is dumped, explained, verified, replayed, drawn and
// checked, be it a formula, a formula over rows, written by hand, or composed.

#include "autograd/inspect/replay.hpp"
#include "nn/nn.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/calculator.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

const auto swish = elementwise("swish", [](auto x) { return x / (1 + exp(-x)); });
const auto own_softmax = row_formula("own_softmax", [](auto x) {
  const auto e = exp(x - constant(max(x)));
  return e / sum(e);
});
const auto own_norm = reduction("own_norm", [](auto x) { return sqrt(sum(x * x)); });

// y = a x m for a number a and a mask m        dx = dy a m
const Op masked_scale{
    "masked_scale",
    {.forward = [](Inputs in, const Attributes& a) { return Computed(in[0] * a.get<double>("by") * in[1]); },
     .rule =
         [](const Step& s, const Tensor& dy, Needs needs) {
           if (needs[1]) fail("[masked_scale] a mask has no derivative");
           return Gradients{dy * s.attribute<double>("by") * s.input(1), Tensor()};
         },
     .zero = "masked",
     .constant = 0b10,
     .explain =
         [](Worksheet& sheet, std::int64_t element) {
           return sheet.input(0, element) * sheet.step().attribute<double>("by") * sheet.input(1, element);
         }}};

// y = x / |x|        dx = (dy − y Σ dy y) / |x|, the length being saved
const Op direction{"direction",
                   {.forward =
                        [](Inputs in, const Attributes&) {
                          const Tensor length = norm(in[0]);
                          return Computed(in[0] / length, {length});
                        },
                    .rule =
                        [](const Step& s, const Tensor& dy, Needs) {
                          const Tensor along = sum(dy * s.output());
                          return Gradients{(dy - s.output() * along) / s.saved(0)};
                        },
                    .composed = [](Inputs in, const Attributes&) { return in[0] / norm(in[0]); }}};

Tensor composed_swish(const Tensor& x) {
  const Tensor e = exp(-x);
  return x / (1 + e);
}

struct OwnOp {
  const char* word;
  std::function<Tensor(const Tensor&)> f;
};

const std::vector<OwnOp>& all_ways() {
  static const std::vector<OwnOp> all{
      {"swish", [](const Tensor& x) { return swish(x); }},
      {"own_softmax", [](const Tensor& x) { return own_softmax(x); }},
      {"own_norm", [](const Tensor& x) { return own_norm(x); }},
      {"masked_scale",
       [](const Tensor& x) {
         return apply(masked_scale, {x, tensor({{1, 0, 1}, {0, 1, 1}}, x.dtype())}, {{"by", 2.5}});
       }},
      {"direction", [](const Tensor& x) { return apply(direction, {x}); }},
      {"div", composed_swish}};
  return all;
}

// x → op → times w → sum, with a backward.
struct Recorded {
  explicit Recorded(const OwnOp& own)
      : x(parameter(tensor({{1, -2, 0.5}, {3, 0.25, -1}}, f64), "x")), y(own.f(x)) {
    loss = sum(square(y));
    tape.backward(loss);
  }
  Tensor x;
  Tape tape;
  Tensor y, loss;
};

}  // namespace

TEST_CASE("a user's op is dumped, drawn and told as any other") {
  for (const OwnOp& own : all_ways()) {
    INFO(own.word);
    const Recorded run(own), again(own);
    const std::string text = dump(run.tape);
    CHECK_THAT(text, Says(own.word));
    CHECK(text == dump(again.tape));
    CHECK_THAT(dump_json(run.tape), Says(std::string("\"word\": \"") + own.word + "\"") ||
                                        Says(std::string("\"") + own.word + "\""));
    CHECK_THAT(dot(run.tape), Says(own.word));
    CHECK_THAT(svg(run.tape), Says(own.word));
    CHECK_THAT(html(run.tape), Says(own.word));
    CHECK(compare(run.tape, again.tape).same());
  }
}

TEST_CASE("a user's op says the arithmetic of each of its numbers") {
  const Precision precision;
  for (const OwnOp& own : all_ways()) {
    INFO(own.word);
    const Recorded run(own);
    const int number = run.tape.step_of(run.y);
    for (std::int64_t element = 0; element < run.y.size(); ++element) {
      std::vector<std::int64_t> index{element};
      if (run.y.rank() == 2) index = {element / 3, element % 3};
      const Explanation explanation = explained(run.tape, number, index);
      REQUIRE(explanation.blocks.size() == 1);
      for (const Explanation::Line& line : explanation.blocks[0].lines) {
        INFO(line.arithmetic);
        CHECK(agrees(evaluated(line.arithmetic, precision), precision));
      }
    }
  }
}

TEST_CASE("a user's op is verified and replayed") {
  for (const OwnOp& own : all_ways()) {
    INFO(own.word);
    const Recorded run(own);
    const Verification found = verify(run.tape);
    INFO(to_string(found));
    CHECK(found.ok());
    CHECK(found.slopes > 0);
    CHECK(found.blames > 0);
    const Step step = run.tape.step(run.tape.step_of(run.y));
    CHECK(inspect::same_bits(inspect::forward_again(step).output, step.output()));
    const Tensor dx = inspect::rule_again(step, step.gradient(), 0);
    if (step.input_step(0) == run.tape.step_of(run.x) && own.word != std::string("div"))
      CHECK(inspect::same_bits(dx, run.tape.grad(run.x)));
  }
}

TEST_CASE("the gradient of a user's op is traced through it, and where it stops that is said") {
  for (const OwnOp& own : all_ways()) {
    INFO(own.word);
    const Recorded run(own);
    const Ledger page = ledger(run.tape, run.x, {0, 0});
    CHECK_THAT(to_string(page), Says(own.word));
    CHECK(flow(run.tape).parameters.size() == 1);
  }
  const Recorded run(all_ways()[3]);
  CHECK(run.x.grad().to_vector() == std::vector<double>{12.5, 0, 6.25, 0, 3.125, -12.5});
}

TEST_CASE("a user's op passes the checks of its first and second derivative") {
  const Tensor x = tensor({{1, -2, 0.5}, {3, 0.25, -1}}, f64);
  for (const OwnOp& own : all_ways()) {
    INFO(own.word);
    CHECK_NOTHROW(gradgradcheck(own.f, {x}));
  }
  CHECK(gradcheck(masked_scale, {x, ones({2, 3}, f64)}, {.attributes = {{"by", 2.0}}}).numbers == 6);
}

TEST_CASE("a user's op is recorded in steps where it says how it is composed") {
  for (const OwnOp& own : all_ways()) {
    Tape tape{{.detail = Detail::steps}};
    const Tensor y = own.f(tensor({{1, -2, 0.5}, {3, 0.25, -1}}, f64));
    const bool whole = tape.step(tape.step_of(y)).word() == own.word;
    const bool in_steps =
        std::string_view(own.word).starts_with("own") || std::string_view(own.word) == "direction";
    CHECK(whole == !in_steps);
  }
}
