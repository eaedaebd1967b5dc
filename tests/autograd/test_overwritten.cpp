// A parameter that is written between a step and its rule.

#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// The line above the one this stands on.
std::string line_above(Where where = Where::current()) {
  return fmt::format("test_overwritten.cpp:{}", where.line() - 1);
}

}  // namespace

TEST_CASE("a parameter that was written since is never used silently") {
  const Tensor x = tensor({3, 4}, f64);
  Tensor w = parameter(tensor({1, 2}, f64), "w");
  Tape tape;
  const Tensor y = x * w;
  const std::string read = "read at " + line_above() + " as version 0";
  w.assign(tensor({5, 6}, f64));
  const std::string written = "overwritten at " + line_above() + ", now version 1";
  const Tensor loss = sum(square(y));
  CHECK(numbers(y) == Numbers{3, 8});
  const Step step = tape.step(tape.step_of(y));
  CHECK(step.overwritten(1));
  CHECK_FALSE(step.overwritten(0));
  CHECK_THROWS_WITH(step.input(1), Says(read));
  CHECK_THROWS_WITH(step.input(1), Says(written));
  CHECK_THROWS_WITH(tape.gradient(loss, {w}), Says("(parameter 'w') was overwritten after the step read it"));
  CHECK_THROWS_WITH(tape.backward(loss), Says("now version 1"));
  CHECK_FALSE(w.has_grad());
}

TEST_CASE("what forward saved is as safe, and the error says how often it was written") {
  // y = 2 w        dw = 2 dy, with a look at the w that was saved
  const Op op{
      "keeper",
      {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * 2, {in[0]}); },
       .rule = [](const Step& s, const Tensor& dy, Needs) { return Gradients{dy * 2 + 0 * s.saved(0)}; }}};
  Tensor w = parameter(tensor({1, 2}, f64), "w");
  Tape tape;
  const Tensor y = sum(apply(op, {w}));
  const std::string saved = line_above();
  w.assign(tensor({5, 6}, f64));
  w.assign(tensor({7, 8}, f64));
  const std::string written = line_above();
  CHECK_THROWS_WITH(
      tape.backward(y),
      "[keeper] saved tensor 0 of step 1 (parameter 'w') was overwritten after the step saved it: "
      "saved at " +
          saved + " as version 0, 2 writes since, last overwritten at " + written +
          ", now version 2. Write to a parameter after backward, or give the op a copy(…)");
  CHECK_FALSE(w.has_grad());
}

TEST_CASE("a rule that needs only the shape of a parameter does not mind that it was written") {
  Tensor w = parameter(tensor({{1, 2}, {3, 4}}, f64));
  Tape tape;
  const Tensor y = sum(transpose(reshape(w, {4, 1})));
  w.assign(zeros({2, 2}, f64));
  tape.backward(y);
  CHECK(numbers(w.grad()) == Numbers{1, 1, 1, 1});
}

TEST_CASE("writing a parameter leaves the old numbers to whoever shares them") {
  Tensor w = parameter(tensor({1, 2, 3, 4}, f64), "w");
  Tape tape;
  const Tensor view = reshape(w, {2, 2});
  const Tensor y = view * 2;
  std::string written;
  {
    const Tape::Pause pause;
    w.writable<double>()[0] = 100;  // under a pause as anywhere
    written = line_above();
  }
  CHECK(w.version() == 1);
  CHECK(to_string(w.written()) == written);
  CHECK(numbers(view) == Numbers{1, 2, 3, 4});
  CHECK(numbers(y) == Numbers{2, 4, 6, 8});
  CHECK(numbers(w) == Numbers{100, 2, 3, 4});
  tape.backward(sum(square(y)));
  CHECK(numbers(w.grad()) == Numbers{8, 16, 24, 32});  // of the numbers that were read
  CHECK_THROWS_WITH(Tensor(y).writable<double>(), Says("only a parameter can be written"));
}
