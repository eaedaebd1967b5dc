#include <algorithm>
#include <memory>

#include "tests/catch.hpp"
#include "tests/inspect/random_graph.hpp"
#include "tests/inspect/support.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

std::vector<Cause> causes(const Why& why) {
  std::vector<Cause> all;
  for (const Finding& each : why.findings) all.push_back(each.cause);
  return all;
}

// The answer at a step of the tape, with the line of the call that made it.
void check(const Why& why, Cause cause, int step, const std::string& text) {
  INFO(to_string(why));
  CHECK(why.cause() == cause);
  CHECK(why.step() == step);
  CHECK_THAT(why.text(), Says(text));
  if (step >= 0) CHECK_THAT(to_string(why), Says("(test_why.cpp:"));
}

Tensor some(const Shape& shape, const char* name, std::uint64_t seed = 1) {
  Rng rng(seed);
  return parameter(randn(shape, rng), name);
}

}  // namespace

TEST_CASE("why: never used") {
  const Tensor x = some({3}, "x"), y = some({3}, "y");
  Tape tape;
  const Tensor loss = sum(square(y));
  check(why(tape, loss, x), Cause::never_used, -1, "no step of this tape reads it");
  const Tensor last = square(y);
  check(why(tape, loss, last), Cause::never_used, tape.step_of(last), "no step of this tape reads it");
}

TEST_CASE("why: not on a path to this loss") {
  const Tensor x = some({3}, "x"), y = some({3}, "y");
  Tape tape;
  const Tensor a = square(x);
  const Tensor b = exp(a);
  const Tensor loss = sum(square(y));
  tape.backward(loss);
  check(why(tape, loss, x), Cause::not_on_path, tape.step_of(b), "nothing that comes of it reaches the loss");
  const Tensor later = loss * y;
  check(why(tape, loss, later), Cause::never_used, tape.step_of(later), "no step");
  (void)sum(later);
  check(why(tape, loss, later), Cause::not_on_path, tape.size() - 1,
        "nothing that comes of it reaches the loss");
}

TEST_CASE("why: recorded while paused") {
  const Tensor x = some({3}, "x"), y = some({3}, "y");
  Tape tape;
  const Tensor a = square(x);
  Tensor b;
  {
    const Tape::Pause pause;
    b = exp(a);
  }
  const int mark = tape.size() - 1;
  const Tensor loss = sum(b * y);
  tape.backward(loss);
  check(why(tape, loss, x), Cause::paused, mark,
        "'exp' was applied to step 1 square while the tape was paused");
  check(why(tape, b, x), Cause::paused, mark, "the loss was computed while the tape was paused");
  check(why(tape, loss, b), Cause::paused, mark, "it was computed while the tape was paused");
}

TEST_CASE("why: of another tape, or of one that has ended") {
  const Tensor x = some({3}, "x"), y = some({3}, "y");
  auto before = std::make_unique<Tape>();
  const Tensor old = square(x);
  before.reset();
  Tape outer;
  const Tensor there = square(x);
  Tape tape;
  const Tensor mixed = there * old;
  const Tensor loss = sum(mixed * y);
  tape.backward(loss);
  check(why(tape, loss, there), Cause::foreign, tape.step_of(there), "it was made on another tape");
  check(why(tape, loss, old), Cause::ended_tape, tape.step_of(old), "it was made on a tape that has ended");
  const Why behind = why(tape, loss, x);
  check(behind, Cause::never_used, -1, "no step of this tape reads it");
  REQUIRE(behind.findings.size() == 2);
  CHECK(behind.findings[1].cause == Cause::foreign);
  CHECK(behind.findings[1].step == tape.step_of(there));
  const Tensor unread = square(y);  // on this tape, but what is asked of is elsewhere
  check(why(outer, loss, x), Cause::foreign, -1, "the loss was made on another tape");
  check(why(outer, there, unread), Cause::foreign, -1, "it was made on another tape");
}

TEST_CASE("why: a loss that is on no tape, or of a tape that has ended") {
  const Tensor x = some({3}, "x");
  const Tensor off = sum(x);
  auto before = std::make_unique<Tape>();
  const Tensor old = sum(x);
  before.reset();
  Tape tape;
  (void)square(x);
  check(why(tape, off, x), Cause::not_on_path, -1, "the loss is not on this tape: it was made without one");
  check(why(tape, old, x), Cause::ended_tape, -1, "the loss was made on a tape that has ended");
}

TEST_CASE("why: detached, or passed through an op without a derivative") {
  const Tensor x = some({3}, "x"), y = some({3}, "y");
  Tape tape;
  const Tensor a = square(x);
  const Tensor cut = a.detach();
  const Tensor b = cut * y;
  const Tensor bits = greater(a, 0.5);
  const Tensor kept = where(bits, y, 0);
  const Tensor both = sum(b + kept);
  tape.backward(both);
  check(why(tape, both, x), Cause::detached, tape.step_of(cut),
        "step 2 detach hands on the numbers of step 1 square, cut off from the tape");
  check(why(tape, sum(kept), x), Cause::no_derivative, tape.step_of(bits),
        "has no derivative; it reads step 1 square");
  check(why(tape, sum(kept), a), Cause::no_derivative, tape.step_of(bits), "has no derivative; it reads it");

  Tape second;
  const Tensor whole = x.to(i32);
  const Tensor back = whole.to(f32);
  const Tensor loss = sum(back * y);
  second.backward(loss);
  check(why(second, loss, x), Cause::no_derivative, second.step_of(whole), "truncate has no derivative");
  check(why(second, loss, whole), Cause::no_derivative, second.step_of(whole), "it holds whole numbers");
}

TEST_CASE("why: taken as a constant") {
  const Tensor x = some({1, 3}, "x"), y = some({1, 3, 2}, "y"), plain = tensor({1, 2});
  Tape tape;
  const Tensor mask = sigmoid(x);
  const Tensor pooled = mean_pool(y * plain, mask);
  const Tensor loss = sum(pooled);
  tape.backward(loss);
  check(why(tape, loss, x), Cause::constant, tape.step_of(pooled),
        "takes step 1 crush to 0..1 as a constant");
  check(why(tape, loss, plain), Cause::constant, tape.step_of(plain),
        "it is a constant: backward passes it by");
  Tape another;
  const Tensor inner = square(plain);
  const Tensor second = sum(inner * y);
  another.backward(second);
  check(why(another, second, inner), Cause::constant, another.step_of(inner), "no parameter leads to it");
}

TEST_CASE("why: frozen, and what else stands in the way") {
  const Tensor x = some({3}, "x"), y = some({3}, "y");
  x.set_frozen(true);
  Tape tape;
  const Tensor loss = sum(x.detach() * y);
  tape.backward(loss);
  const Why both = why(tape, loss, x);
  check(both, Cause::frozen, tape.step_of(x), "it was frozen when this tape met it");
  CHECK(causes(both) == std::vector<Cause>{Cause::frozen, Cause::detached});
  Tape unread;
  const Tensor other = sum(y);
  CHECK(causes(why(unread, other, x)) == std::vector<Cause>{Cause::frozen, Cause::never_used});
  Tape read;
  const Tensor fine = sum(x * y);
  read.backward(fine);
  CHECK(causes(why(read, fine, x, {.unheld = {"x"}})) == std::vector<Cause>{Cause::frozen, Cause::unheld});
}

TEST_CASE("why: no optimizer holds it") {
  const Tensor x = some({3}, "x"), y = some({3}, "y");
  Tape tape;
  const Tensor loss = sum(x * y);
  tape.backward(loss);
  const Why named = why(tape, loss, x, {.unheld = {"w", "x"}});
  check(named, Cause::unheld, tape.step_of(x), "no optimizer holds it");
  CHECK(causes(named) == std::vector<Cause>{Cause::unheld, Cause::flows});
  CHECK(why(tape, loss, x, {.held = std::vector<Tensor>{y}}).cause() == Cause::unheld);
  CHECK(why(tape, loss, y, {.held = std::vector<Tensor>{y}, .unheld = {"x"}}).cause() == Cause::flows);
}

TEST_CASE("why: backward has not run, ran from elsewhere, or freed what there was") {
  const Tensor x = some({3}, "x");
  {
    Tape tape;
    const Tensor y = square(x);
    const Tensor loss = sum(y), other = mean(y);
    check(why(tape, loss, x), Cause::not_yet, -1,
          "backward has not run on this tape; a path from the loss is there");
    tape.backward(other);
    check(why(tape, loss, x), Cause::other_loss, tape.step_of(other),
          "backward ran from step 3 mean, not from step 2");
  }
  x.clear_grad();
  Tape tape{{.keep = Keep::leaves}};
  const Tensor y = square(x);
  const Tensor loss = sum(y);
  tape.backward(loss);
  CHECK(why(tape, loss, x).cause() == Cause::flows);
  check(why(tape, loss, y), Cause::freed, tape.step_of(y), "was freed as backward passed");
  x.clear_grad();
  check(why(tape, loss, x), Cause::freed, tape.step_of(x), "its gradient was taken since");
  Tape zero{{.keep = Keep::leaves}};
  const Tensor nothing = sum(x * 0);
  zero.backward(nothing);
  check(why(zero, nothing, x), Cause::zero, zero.step_of(x), "where that came in was freed");
}

TEST_CASE("why: a rule that gives none") {
  const Op forgetful{"forgetful",
                     {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * in[1]); },
                      .rule =
                          [](const Step& s, const Tensor& dy, Needs) {
                            return Gradients{dy * s.input(1), Tensor()};
                          }}};
  const Tensor x = some({3}, "x"), y = some({3}, "y");
  Tape tape;
  const Tensor a = square(y);
  const Tensor b = apply(forgetful, {x, a});
  const Tensor loss = sum(b);
  tape.backward(loss);
  check(why(tape, loss, y), Cause::no_derivative, tape.step_of(b),
        "the rule of step 3 forgetful gives no gradient");
}

TEST_CASE("why: a dead relu") {
  const Tensor w = parameter(tensor({{1, 2}, {-1, 3}}), "w"), b = parameter(tensor({-100, -100}), "b");
  const Tensor sheet = tensor({{1, 0}, {0, 1}, {2, 1}});
  Tape tape;
  const Tensor z = linear(sheet, w, b);
  const Tensor y = relu(z);
  const Tensor loss = sum(square(y));
  tape.backward(loss);
  const Why dead = why(tape, loss, w, {.glossary = Glossary::textbook});
  check(dead, Cause::zero, tape.step_of(y),
        "a dead relu: step 4 relu gets gradient and passes none to all 6 numbers of step 3 dense layer; [0, "
        "0] is "
        "-99");
  CHECK(causes(dead) == std::vector<Cause>{Cause::zero});
}

TEST_CASE("why: a masked row") {
  const Tensor sheet = some({1, 3, 2}, "sheet");
  const Tensor mask = tensor({{1, 1, 0}}, i32);
  Tape tape;
  const Tensor doubled = sheet * 2;
  const Tensor pooled = mean_pool(doubled, mask);
  const Tensor loss = sum(square(pooled));
  tape.backward(loss);
  CHECK(why(tape, loss, sheet).cause() == Cause::flows);
  CHECK_THAT(why(tape, loss, sheet).text(), Says("0 in 2 of 6 numbers"));
  check(why(tape, loss, sheet, {.index = {0, 2}}), Cause::zero, tape.step_of(pooled), "masked: step");
  CHECK(why(tape, loss, sheet, {.index = {0, 1}}).cause() == Cause::flows);

  // In attention a key that no row may look at.
  const Tensor q = some({2, 4}, "q", 2), k = some({3, 4}, "k", 3), v = some({3, 4}, "v", 4);
  const Tensor seen = tensor({{1, 0, 1}, {1, 0, 1}}, i32);
  for (const Detail detail : {Detail::fast, Detail::steps}) {
    Tape looking{{.detail = detail}};
    const Tensor mixed = attention(q, k, v, {.mask = seen});
    const Tensor total = sum(square(mixed));
    looking.backward(total);
    const Why masked = why(looking, total, k, {.index = {1}});
    INFO(to_string(masked));
    CHECK(masked.cause() == Cause::zero);
    CHECK_THAT(masked.text(), Says("masked"));
    CHECK(why(looking, total, k, {.index = {0}}).cause() == Cause::flows);
  }
}

TEST_CASE("why: dropout") {
  const Tensor x = some({4}, "x");
  Tape tape;
  const Tensor y = dropout(x, 1, 7);
  const Tensor loss = sum(y * y + y);
  tape.backward(loss);
  check(why(tape, loss, x), Cause::zero, tape.step_of(y), "dropped out: step 1");
}

TEST_CASE("why: saturation") {
  const Tensor x = parameter(tensor({200, 300}), "x");
  Tape tape;
  const Tensor scaled = x * 3;
  const Tensor y = sigmoid(scaled);
  const Tensor loss = sum(y);
  tape.backward(loss);
  check(why(tape, loss, x), Cause::zero, tape.step_of(y), "saturated: step 2");
}

TEST_CASE("why: multiplication by zero") {
  const Tensor x = some({2, 3}, "x"), none = parameter(zeros({3, 2}), "none");
  Tape tape;
  const Tensor a = square(x);
  const Tensor y = matmul(a, none);
  const Tensor loss = sum(y + 1);
  tape.backward(loss);
  check(why(tape, loss, x), Cause::zero, tape.step_of(y), "multiplied by 0: step 3 matmul");
  CHECK(why(tape, loss, none).cause() == Cause::flows);

  Tape scalar;
  const Tensor nothing = x * 0;
  const Tensor second = sum(nothing);
  scalar.backward(second);
  check(why(scalar, second, x), Cause::zero, scalar.step_of(nothing), "multiplied by 0: step 1 mul");

  const Tensor flat = parameter(zeros({2}), "flat");
  Tape at_zero;
  const Tensor squared = square(flat);
  const Tensor third = sum(squared);
  at_zero.backward(third);
  check(why(at_zero, third, flat), Cause::zero, at_zero.step_of(squared), "at 0: step 1 square");
}

TEST_CASE("why: contributions that cancel, as at a key's bias under softmax") {
  const Tensor sheet = some({5, 4}, "sheet"), wq = some({4, 4}, "query", 2), wk = some({4, 4}, "key", 3),
               bias = some({4}, "key bias", 4), value = some({5, 4}, "value", 5);
  for (const Detail detail : {Detail::fast, Detail::steps}) {
    Tape tape{{.detail = detail}};
    const Tensor q = linear(sheet, wq);
    const Tensor k = linear(sheet, wk, bias);
    const Tensor mixed = attention(q, k, value);
    const Tensor loss = sum(square(mixed));
    tape.backward(loss);
    check(why(tape, loss, bias), Cause::cancels, tape.step_of(k),
          "of contributions that are not 0 no more is left");
    CHECK(why(tape, loss, wk).cause() == Cause::flows);
    CHECK(why(tape, loss, wq).cause() == Cause::flows);
  }
  // Exactly: within one step, and between two.
  const Tensor x = parameter(tensor({0.5, 2}), "x");
  Tape tape;
  const Tensor total = sum(x);
  const Tensor signs = tensor({1, -1});
  const Tensor spread = broadcast_to(total, {2}) * signs;
  const Tensor loss = sum(spread);
  tape.backward(loss);
  check(why(tape, loss, x), Cause::cancels, tape.step_of(total) + 1,
        "contributions cancel: step 2 broadcast_to adds");
  Tape apart;
  const Tensor up = x * 3, down = x * -3;
  const Tensor nothing = sum(up + down);
  apart.backward(nothing);
  check(why(apart, nothing, x), Cause::cancels, apart.step_of(x),
        "what the readers of step 0 dial x give adds up to 0");
}

TEST_CASE("why: several places, the one that ends most first") {
  const Tensor x = parameter(tensor({-1, 2, 3, 4}), "x");
  Tape tape;
  const Tensor kept = relu(x);
  const Tensor mask = tensor({0, 1, 1, 1}, i32);
  const Tensor cut = masked_fill(kept, mask, 5);
  const Tensor loss = sum(cut);
  tape.backward(loss);
  const Why both = why(tape, loss, x);
  check(both, Cause::zero, tape.step_of(cut),
        "masked: step 3 masked_fill gets BLAME and passes none to all 3 numbers");
  REQUIRE(both.findings.size() == 2);
  CHECK(both.findings[1].step == tape.step_of(kept));
  CHECK_THAT(both.findings[1].text, Says("a dead relu: step 1") && Says("1 of 4 numbers"));
}

TEST_CASE("why: an embedding's row that no text holds") {
  const Tensor table = some({4, 2}, "table");
  const Tensor ids = tensor({0, 2, 2}, i32);
  Tape tape;
  const Tensor points = embedding(table, ids);
  const Tensor loss = sum(square(points));
  tape.backward(loss);
  CHECK(why(tape, loss, table).cause() == Cause::flows);
  check(why(tape, loss, table, {.index = {1}}), Cause::zero, tape.step_of(points),
        "never looked up, or padding: step");
}

TEST_CASE("why: backward was given zeros") {
  const Tensor x = some({2}, "x");
  Tape tape;
  const Tensor y = square(x);
  tape.backward(y, {.upstream = zeros({2})});
  check(why(tape, y, x), Cause::zero, tape.step_of(y), "backward was given 0 for all 2 numbers of step 1");
}

TEST_CASE("why: there is a gradient, by this path") {
  const Tensor x = parameter(tensor({3, 4}), "x");
  Tape tape;
  const Tensor little = x * 0.01, much = square(x);
  const Tensor both = little + much;
  const Tensor loss = sum(both);
  tape.backward(loss);
  const Why fine = why(tape, loss, x);
  check(fine, Cause::flows, tape.step_of(x),
        "BLAME has come: norm 10.01; most of it by way of 0 → 2 → 3 → 4");
  Tape chain;
  Tensor y = x;
  for (int i = 0; i < 20; ++i) y = y * 1.5;
  const Tensor end = sum(y);
  chain.backward(end);
  CHECK_THAT(why(chain, end, x).text(), Says("0 → 1 → 2 → 3 → … 14 more → 18 → 19 → 20 → 21"));
}

TEST_CASE("why: what was overwritten since cannot be asked") {
  Tensor x = parameter(tensor({3, 4}), "x"), none = parameter(zeros({2}), "none");
  Tape tape;
  const Tensor y = x * none;
  const Tensor loss = sum(y);
  tape.backward(loss);
  none.assign(ones({2}));
  check(why(tape, loss, x), Cause::zero, tape.step_of(x),
        "where that came in cannot be told: [mul] input 1 of step 2");
}

TEST_CASE("why: questions that make no sense") {
  const Tensor x = some({2, 3}, "x");
  Tape tape;
  const Tensor loss = sum(x);
  CHECK_THROWS_WITH(why(tape, loss, Tensor()), Says("[why] was asked about a Tensor that never got a value"));
  CHECK_THROWS_WITH(why(tape, loss, x, {.index = {2}}), Says("[why] index 2 of axis 0 is out of range"));
  CHECK_THROWS_WITH(why(tape, loss, x, {.index = {0, 1, 2}}), Says("[why] the index has 3 places"));
}

TEST_CASE("why changes nothing, and answers on every random graph") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Tape tape;
    const RandomGraph graph = random_graph(seed, 20, f32);
    tape.backward(graph.loss);
    const int steps = tape.size();
    const std::string before = dump(tape);
    for (const Tensor& x : graph.parameters) {
      const Why answer = why(tape, graph.loss, x);
      INFO("seed " << seed << " " << to_string(answer));
      const bool some =
          x.has_grad() && std::ranges::any_of(x.grad().to_vector(), [](double v) { return v != 0; });
      if (answer.cause() == Cause::flows) CHECK((some || x.size() == 0));
      if (answer.cause() == Cause::zero) CHECK_FALSE(some);
      CHECK_THAT(answer.text(), !Says("cannot be told"));
    }
    CHECK(tape.size() == steps);
    CHECK(dump(tape) == before);
  }
}

TEST_CASE("why does not recurse") {
  const Tensor x = parameter(tensor({1.0}), "x");
  Tape tape;
  Tensor y = x;
  for (int i = 0; i < 100'000; ++i) y = twice(y) * 0.5;
  const Tensor dead = y * 0;
  tape.backward(dead);
  CHECK(why(tape, dead, x).cause() == Cause::zero);
  CHECK(why(tape, dead, x).step() == tape.step_of(dead));
}

TEST_CASE("what why answers reads as it should") {
  const Tensor sheet = named(tensor({{1, 0}, {0, 1}, {2, 1}}), "sheet");
  const Tensor w = parameter(tensor({{1, 2}, {-1, 3}}), "tagger.weight");
  const Tensor b = parameter(tensor({-100, -100}), "tagger.bias"), other = parameter(tensor({1, 2}), "other");
  other.set_frozen(true);
  Tape tape;
  const Scope scope("tagger");
  const Tensor z = linear(sheet, w, b);
  const Tensor y = relu(z);
  const Tensor cut = y.detach();
  const Tensor mixed = cut * other;
  const Tensor loss = sum(y + mixed);
  std::string text = to_string(why(tape, loss, w), false);
  tape.backward(loss);
  text += to_string(why(tape, loss, w), false);
  text += to_string(why(tape, loss, b, {.unheld = {"tagger.bias"}, .glossary = Glossary::textbook}), false);
  text += to_string(why(tape, loss, y), false);
  text += to_string(why(tape, loss, other), false);
  text += to_string(why(tape, sum(mixed), w), false);
  text += to_string(why(tape, loss, parameter(ones({2}), "forgotten")), false);
  CHECK(text == golden_text("why.txt"));
}
