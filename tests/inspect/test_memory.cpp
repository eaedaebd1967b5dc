#include "autograd/inspect/memory.hpp"

#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// A small model of two modules; all numbers are f32.
struct Small {
  Tensor weight = parameter(ones({8, 4}), "query.weight");
  std::optional<Tape> tape;
  Tensor loss;

  explicit Small(TapeOptions options = {}) {
    tape.emplace(options);
    const Tensor sheet = ones({16, 4});
    Tensor want;
    {
      const Scope scope("query");
      const Role role("query");
      want = linear(sheet, weight);
    }
    {
      const Scope scope("norm");
      want = layer_norm(want, ones({8}), zeros({8}));
      want = reshape(want, {128});
    }
    loss = mean(want);
  }
};

std::int64_t sum_of_steps(const Memory& memory) {
  std::int64_t sum = 0;
  for (const StepBytes& bytes : memory.steps) sum += bytes.total();
  return sum;
}

}  // namespace

TEST_CASE("what a tape holds reads as it should") {
  Small small({.detail = Detail::steps});
  small.tape->backward(small.loss);
  std::string text = to_string(memory(*small.tape, {.most = 4}));
  text.erase(0, text.find('\n') + 1);  // the first line counts heads and lists, whose sizes are the machine's
  CHECK(text == golden_text("memory.txt"));
}

TEST_CASE("numbers that tensors share count once, and steps add up to modules and to the whole") {
  Small small;
  const Memory before = memory(*small.tape);
  // sheet, weight, want, norm's weight and bias, its output and two numbers a row, the mean
  CHECK(before.bytes.values == 4 * (64 + 32 + 128 + 8 + 8 + 128 + 1));
  CHECK(before.bytes.saved == 4 * (16 + 16));
  CHECK(before.bytes.blame == 0);
  CHECK(before.parameters == 4 * 32);
  small.tape->backward(small.loss);
  const Memory after = memory(*small.tape);
  CHECK(after.bytes.values == before.bytes.values);
  CHECK(after.bytes.blame == 4 * (1 + 128 + 128 + 32));  // the reshape hands on its gradient
  std::int64_t modules = 0;
  int steps = 0;
  for (const MemoryModule& module : after.modules) {
    modules += module.bytes.total();
    steps += module.steps;
  }
  CHECK(modules == after.bytes.total());
  CHECK(steps == small.tape->size());
  CHECK(sum_of_steps(after) == after.bytes.total());
  CHECK(after.largest.front().bytes.total() >= after.largest.back().bytes.total());
  CHECK(after.records > 0);
}

TEST_CASE("the peak that freeing would have had is that of a sweep, step by step") {
  const Tensor w = parameter(ones({4}, f64), "w");
  Tape tape;
  {
    const Tensor first = square(w);
    const Tensor second = square(first);
    tape.backward(square(second), {.upstream = ones({4}, f64)});
  }
  const Memory all = memory(tape);
  CHECK(all.peak == 8 * 32);  // w, three values and four gradients
  // While the last rule runs: w, three values, the gradient it was given and the one that it gives.
  CHECK(all.peak_with_leaves == 6 * 32);
  CHECK(all.held_tensors == 0);
}

TEST_CASE("what is held from outside cannot be freed") {
  const Tensor w = parameter(ones({4}, f64), "w");
  Tape tape;
  const Tensor first = named(square(w), "first");
  const Tensor again = first, view = with_shape(first, {2, 2});
  {
    const Tensor second = square(first);
    tape.backward(square(second), {.upstream = ones({4}, f64)});
  }
  const Memory held = memory(tape);
  REQUIRE(held.held_tensors == 1);
  CHECK(held.held[0].step == 1);
  CHECK(held.held[0].name == "first");
  CHECK(held.held[0].what == "value");
  CHECK(held.held[0].handles == 3);
  CHECK(held.held_bytes == 32);
  const Tensor blame = tape.grad(first);
  CHECK(memory(tape).held_tensors == 2);
  CHECK(memory(tape).held[1].what == "blame");
  const Tensor gradient = w.grad();  // one that a parameter and somebody else hold
  CHECK(memory(tape).held_tensors == 3);
  CHECK(memory(tape).held[2].step == 1);
  CHECK(memory(tape).held[0].name == "w");
}

TEST_CASE("a fused op's parts are counted, and leaving them out saves no more than is said") {
  Small fast, steps({.detail = Detail::steps});
  for (Small* small : {&fast, &steps}) small->tape->backward(small->loss);
  const Memory whole = memory(*fast.tape), parts = memory(*steps.tape);
  CHECK(whole.parts == 0);
  CHECK(parts.parts == steps.tape->size() - fast.tape->size());
  CHECK(parts.parts_bytes > 0);
  CHECK(parts.bytes.total() - whole.bytes.total() <= parts.parts_bytes);
  CHECK(parts.parts_bytes < parts.bytes.total());
}

TEST_CASE("a tape that freed what it passed says so") {
  Small small({.keep = Keep::leaves});
  CHECK(memory(*small.tape).peak == memory(*small.tape).bytes.total());
  CHECK_THAT(to_string(memory(*small.tape)),
             Says("so far; what Keep::leaves would save is known after backward"));
  const std::int64_t before = memory(*small.tape).bytes.total();
  small.loss = Tensor();
  small.tape->backward(small.tape->step(small.tape->size() - 1).output());
  const Memory after = memory(*small.tape);
  CHECK(after.bytes.total() < before);
  CHECK_FALSE(after.peak);
  CHECK_THAT(to_string(after), Says("peak: unknown, as numbers were freed"));
}

// BC-41: a running total holds all that went into it, as long as one tape lives.
TEST_CASE("total = total + loss on one tape: the holder is named and the steps are counted") {
  const Tensor w = parameter(tensor(1, f64), "w");
  Tape tape;
  Tensor total = tensor(0, f64);
  for (int i = 0; i < 10'000; ++i) total = named(total + square(w), "total");
  const Memory grown = memory(tape);
  CHECK(grown.steps.size() == 2 + 2 * 10'000);
  CHECK(grown.bytes.values == 8 * (2 + 2 * 10'000));
  REQUIRE(grown.held_tensors == 1);
  CHECK(grown.held[0].name == "total");
  CHECK(grown.held[0].step == tape.size() - 1);
  CHECK_THAT(to_string(grown), Says("held from outside") && Says("total"));
}

TEST_CASE("a total of plain numbers leaves the tape as it is") {
  const Tensor w = parameter(tensor(1, f64), "w");
  double total = 0;
  std::size_t steps = 0;
  for (int i = 0; i < 100; ++i) {
    Tape tape;
    total += square(w).item();
    if (i == 0) steps = memory(tape).steps.size();
    REQUIRE(memory(tape).steps.size() == steps);
    REQUIRE(memory(tape).held_tensors == 0);
  }
  CHECK(total == 100);
}

TEST_CASE("counting changes nothing, and an empty tape holds nothing") {
  Small small;
  small.tape->backward(small.loss);
  const std::string before = dump(*small.tape);
  const auto handles = detail::Body::of(small.weight)->uses.load();
  (void)to_string(memory(*small.tape));
  CHECK(dump(*small.tape) == before);
  CHECK(detail::Body::of(small.weight)->uses.load() == handles);
  small.tape.reset();
  const Tape empty;
  CHECK(memory(empty).bytes.total() == 0);
  CHECK_THAT(to_string(memory(empty)), Says("0 B in the numbers of 0 steps"));
}
