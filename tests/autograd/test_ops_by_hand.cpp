// Ops written by hand in a recorded sweep: what is differentiated, what through `composed`, and what is
// refused.

#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/gradcheck.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// y = x², with one rule or another
Op squared(std::function<Gradients(const Step&, const Tensor&, Needs)> rule,
           std::function<Tensor(Inputs, const Attributes&)> composed = nullptr) {
  return Op("squared",
            {.forward = [](Inputs in, const Attributes&) { return Computed(square(in[0]), {2 * in[0]}); },
             .rule = std::move(rule),
             .composed = std::move(composed)});
}

// 2 x dy, number by number, behind the tape's back
Gradients behind(const Step& s, const Tensor& dy, Needs) {
  Tensor dx = empty(dy.shape(), f64);
  const auto x = s.input(0).values<double>(), up = dy.values<double>();
  const auto to = dx.writable<double>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = 2 * x[i] * up[i];
  return {dx};
}

Gradients through_saved(const Step& s, const Tensor& dy, Needs) { return {dy * s.saved(0)}; }

Tensor recorded_gradient(const Op& op, const Tensor& x) {
  Tape tape;
  const Tensor y = sum(apply(op, {x}));
  return tape.gradient(y, {x}, {.record = true})[0];
}

}  // namespace

TEST_CASE("a rule that works behind the tape's back gives gradients, but no recorded ones") {
  const Op op = squared(behind);
  const Tensor x = tensor({1, 2}, f64);
  CHECK_NOTHROW(gradcheck(op, {x}));
  CHECK_THROWS_WITH(
      recorded_gradient(op, x),
      "[squared] the rule's gradient for input 0 was not made by ops (step 1): a recorded sweep cannot "
      "differentiate it. Write the rule in ops, or give the op its .composed");
}

TEST_CASE("a rule that reads what was saved is refused in a recorded sweep, with the cure") {
  const Op op = squared(through_saved);
  CHECK_NOTHROW(gradcheck(op, {tensor({1, 2}, f64)}));
  CHECK_THROWS_WITH(recorded_gradient(op, tensor({1, 2}, f64)),
                    Says("[squared] the rule reads what forward saved") && Says("give the op its .composed"));
}

TEST_CASE("composed is the cure for both") {
  const auto composed = [](Inputs in, const Attributes&) { return in[0] * in[0]; };
  for (const Op& op : {squared(behind, composed), squared(through_saved, composed)})
    CHECK_NOTHROW(gradgradcheck(op, {tensor({1, 2}, f64)}));
}

TEST_CASE("a gradient that is 0 or dy itself is no gradient behind the tape's back") {
  const Tensor x = tensor({1, 2}, f64);
  const Op flat =
      squared([](const Step& s, const Tensor&, Needs) { return Gradients{zeros(s.shape(), f64)}; });
  CHECK(all_zero(recorded_gradient(flat, x)));
  const Op straight = squared([](const Step&, const Tensor& dy, Needs) { return Gradients{dy}; });
  CHECK(numbers(recorded_gradient(straight, x)) == Numbers{1, 1});
}

TEST_CASE("a composed of another shape or none is refused") {
  const Op shorter = squared(behind, [](Inputs in, const Attributes&) { return sum(in[0]); });
  CHECK_THROWS_WITH(recorded_gradient(shorter, tensor({1, 2}, f64)),
                    Says("[squared] composed gives () of f64 where forward gave (2) of f64"));
  const Op none = squared(behind, [](Inputs, const Attributes&) { return Tensor(); });
  CHECK_THROWS_WITH(recorded_gradient(none, tensor({1, 2}, f64)), "[squared] composed gave back no tensor");
}

TEST_CASE("no gradient is asked for an input that is marked as without derivative") {
  static bool asked;
  asked = false;
  const Op scaled{"scaled",
                  {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * in[1]); },
                   .rule =
                       [](const Step& s, const Tensor& dy, Needs needs) {
                         asked = asked || needs[1];
                         return Gradients{dy * s.input(1), dy * s.input(0)};
                       },
                   .constant = 0b10}};
  const Tensor x = parameter(tensor({1, 2}, f64)), w = parameter(tensor({3, 4}, f64));
  Tape tape;
  const Tensor y = sum(apply(scaled, {x, w}));
  tape.backward(y);
  CHECK_FALSE(asked);
  CHECK(numbers(x.grad()) == Numbers{3, 4});
  CHECK_FALSE(w.has_grad());
  CHECK(all_zero(tape.gradient(y, {w})[0]));
}
