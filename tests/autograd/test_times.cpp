// TapeOptions::time, on a clock of the test's own.

#include "autograd/ops/elementwise.hpp"
#include "tests/autograd/support.hpp"
#include "tests/ticking.hpp"

using namespace pencil;
using namespace pencil::tests;

TEST_CASE("a tape that is asked to measures each step's forward and backward") {
  const Ticking clock;
  const Tensor x = parameter(tensor(2, f64));
  Tape tape{{.time = true}};  // the clock stands at 1,000 now
  const Tensor y = square(x);
  const Tensor z = exp(y);
  const Step leaf = tape.step(0), first = tape.step(1), second = tape.step(2);
  CHECK(first.forward_begin() == 1000);
  CHECK(first.forward_time() == 1000);
  CHECK(second.forward_begin() == 3000);
  CHECK(second.backward_time() == -1);
  tape.backward(z);
  CHECK(second.backward_begin() == 5000);
  CHECK(second.backward_time() == 1000);
  CHECK(first.backward_begin() == 7000);
  CHECK(first.backward_time() == 1000);
  CHECK(leaf.forward_time() == -1);
  CHECK(leaf.backward_time() == -1);
  CHECK(leaf.backward_begin() == -1);
}

TEST_CASE("a tape that is not asked never looks at the clock, and says −1") {
  const Ticking clock;
  const Tensor x = parameter(tensor(2, f64));
  Tape tape;
  tape.backward(square(x));
  CHECK(Ticking::looks() == 0);
  CHECK(tape.step(1).forward_time() == -1);
  CHECK(tape.step(1).backward_begin() == -1);
}

TEST_CASE("steps that are freed, paused or never reached by backward keep the times they have") {
  const Ticking clock;
  const Tensor x = parameter(tensor(2, f64)), w = parameter(tensor(3, f64));
  Tape tape{{.keep = Keep::leaves, .time = true}};
  const Tensor y = square(x);
  {
    const Tape::Pause pause;
    (void)exp(y);
  }
  const Tensor aside = y * w;
  tape.backward(y);
  CHECK(tape.step(tape.step_of(y)).backward_time() == 1000);
  CHECK(tape.step(2).kind() == StepKind::paused);
  CHECK(tape.step(2).forward_time() == -1);
  CHECK(tape.step(tape.step_of(aside)).forward_time() == 1000);
  CHECK(tape.step(tape.step_of(aside)).backward_time() == -1);
}

TEST_CASE("measuring changes no bit") {
  const Tensor x = parameter(random({5, 7}, 3));
  Tensor plain;
  for (const bool time : {false, true}) {
    Tape tape{{.time = time}};
    tape.backward(exp(square(x)), {.upstream = random({5, 7}, 4)});
    if (!time) plain = x.grad();
    if (time) CHECK(numbers(x.grad()) == numbers(plain));
    x.clear_grad();
  }
}

TEST_CASE("without a test the clock goes on") {
  const std::int64_t before = detail::steady_clock();
  CHECK(before > 0);
  CHECK(detail::steady_clock() >= before);
}
