// Scalars and tensors on one tape: stack, unstack, and one sweep over both.

#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/scalars.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "tests/autograd/error_of.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// Σ (w x)² where the product is in tensors and the squares are added up by Scalars, then times a Scalar and
// back in tensors.
struct Mixed {
  Tensor w = parameter(tensor({{1, 2}, {3, 4}}, f64), "w");
  Tensor x = tensor({5, 6}, f64);
  std::vector<Scalar> s;
  Tensor y, both, loss;
  Scalar total, scaled;

  void record() {
    s = scalars({2}, {"a"});
    y = linear(x, w);
    const std::vector<Scalar> parts = unstack(y);
    total = parts[0] * parts[0] + parts[1] * parts[1];
    scaled = total * s[0];
    both = stack({scaled, s[0]});
    loss = sum(both * tensor({10, 1}, f64));
  }
};

}  // namespace

TEST_CASE("a gradient passes from tensors to Scalars and back, in one sweep") {
  Mixed m;
  Tape tape;
  m.record();
  CHECK(m.loss.item() == 10 * 2 * (17 * 17 + 39 * 39) + 2);
  tape.backward(m.loss);
  CHECK(m.s[0].grad() == 10 * (17 * 17 + 39 * 39) + 1);
  CHECK(m.total.grad() == 20);
  CHECK(tape.grad(m.y).to_vector() == Numbers{20 * 2 * 17, 20 * 2 * 39});
  CHECK(m.w.grad().to_vector() == Numbers{680 * 5, 680 * 6, 1560 * 5, 1560 * 6});
}

TEST_CASE("the sweep may start from a Scalar behind tensors") {
  Mixed m;
  Tape tape;
  m.record();
  tape.backward(m.scaled);
  CHECK(m.s[0].grad() == 17 * 17 + 39 * 39);
  CHECK(m.w.grad().to_vector() == Numbers{68 * 5, 68 * 6, 156 * 5, 156 * 6});
}

TEST_CASE(
    "scalar statements between two tensor steps are one step of the tape, however often it is looked at") {
  Mixed m;
  int looked = 0, plain = 0;
  {
    Tape tape;
    m.record();
    plain = tape.size();
  }
  Tape tape;
  const std::vector<Scalar> s = scalars({2}, {"a"});
  (void)tape.size();
  const Tensor y = linear(m.x, m.w);
  (void)tape.size();
  const std::vector<Scalar> parts = unstack(y);
  (void)tape.size();
  Scalar total = parts[0] * parts[0];
  (void)tape.size();
  total += parts[1] * parts[1];
  (void)tape.size();
  const Scalar scaled = total * s[0];
  const Tensor both = stack({scaled, s[0]});
  const Tensor loss = sum(both * tensor({10, 1}, f64));
  looked = tape.size();
  CHECK(looked == plain);
  tape.backward(loss);
  CHECK(m.w.grad().to_vector() == Numbers{680 * 5, 680 * 6, 1560 * 5, 1560 * 6});
  int runs = 0;
  for (int i = 0; i < tape.size(); ++i)
    if (tape.step(i).kind() == StepKind::scalars) ++runs;
  CHECK(runs == 2);
}

TEST_CASE("a step of Scalars reads the steps its operands come from") {
  Mixed m;
  Tape tape;
  m.record();
  const int run = tape.step_of(stack({m.scaled}));
  const Step step = tape.step(run);
  CHECK(step.kind() == StepKind::scalars);
  CHECK(step.word() == "scalars");
  REQUIRE(step.inputs() == 1);
  const Step middle = tape.step(step.input_step(0));
  CHECK(middle.kind() == StepKind::scalars);
  std::vector<int> read;
  for (int i = 0; i < middle.inputs(); ++i) read.push_back(middle.input_step(i));
  CHECK(read == std::vector<int>{0, tape.step_of(m.y)});
}

TEST_CASE("gradient asks for tensors and Scalars on both sides, and leaves no trace") {
  Mixed m;
  Tape tape;
  m.record();
  const int size = tape.size();
  const double square = 17 * 17 + 39 * 39;
  CHECK(tape.gradient(m.loss, {m.w})[0].to_vector() == Numbers{680 * 5, 680 * 6, 1560 * 5, 1560 * 6});
  CHECK(tape.gradient(m.loss, {m.y})[0].to_vector() == Numbers{680, 1560});
  CHECK(tape.gradient(m.scaled, {m.w, m.x})[0].to_vector() == Numbers{68 * 5, 68 * 6, 156 * 5, 156 * 6});
  CHECK(tape.gradient(m.scaled, {m.x})[0].to_vector() == Numbers{68 * 1 + 156 * 3, 68 * 2 + 156 * 4});
  CHECK(tape.gradient(m.loss, {m.both})[0].to_vector() == Numbers{10, 1});
  CHECK(tape.gradient(m.loss, m.s) == Numbers{10 * square + 1});
  CHECK(tape.gradient(m.total, m.s) == Numbers{0});
  tape.backward(m.loss);
  CHECK(tape.gradient(m.scaled, std::vector<Scalar>{m.total}) == Numbers{2});
  CHECK(m.total.grad() == 20);
  CHECK(m.s[0].grad() == 10 * square + 1);
  CHECK(tape.size() == size);
  CHECK(error_of([&] {
          (void)tape.gradient(m.loss, {m.w}, {.record = true});
        }).starts_with("[gradient] a recorded sweep came to scalar statements (step "));
}

TEST_CASE("unstack takes a parameter's numbers as they are, and casts f32") {
  const Tensor w = parameter(tensor({2, 3}, f64), "w"), v = parameter(tensor({{4, 5}}, f32), "v");
  Tape tape;
  const std::vector<Scalar> a = unstack(w), b = unstack(v);
  CHECK(a[1].name() == "w[1]");
  const Scalar y = a[0] * b[1] + a[1] * a[1];
  tape.backward(y);
  CHECK(w.grad().to_vector() == Numbers{5, 6});
  CHECK(v.grad().shape() == Shape{1, 2});
  CHECK(v.grad().dtype() == f32);
  CHECK(v.grad().to_vector() == Numbers{0, 2});
}

TEST_CASE("without a tape, or of constants only, stack and unstack give plain values") {
  CHECK(stack({Scalar(1), Scalar(2) * 3}).to_vector() == Numbers{1, 6});
  CHECK(unstack(tensor({1, 2}))[1].value() == 2);
  CHECK(unstack(tensor({1, 2}))[1].is_constant());
  Tape tape;
  CHECK(stack({Scalar(1)}).to_vector() == Numbers{1});
  CHECK(tape.size() == 0);
  CHECK(stack(std::vector<Scalar>()).shape() == Shape{0});
}

TEST_CASE("a stack right after another, of Scalars and constants, is a step of its own") {
  Tape tape;
  const std::vector<Scalar> x = scalars({2, 3});
  const Tensor one = stack({x[0], x[1]}), two = stack({x[1], 7, x[1]});
  const Tensor loss = sum(one) + sum(two * two);
  tape.backward(loss);
  CHECK(x[0].grad() == 1);
  CHECK(x[1].grad() == 1 + 6 + 6);
}

TEST_CASE("a scalar tape inside a tensor rule stands on its own") {
  const Op cube{"scalar_cube",
                {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * in[0] * in[0]); },
                 .rule =
                     [](const Step& s, const Tensor& dy, Needs) {
                       Tape inner;
                       const std::vector<Scalar> x = scalars(s.input(0).values<double>());
                       Tensor dx = empty(s.input(0).shape(), f64);
                       const Scalar y = sum(std::vector<Scalar>{x[0] * x[0] * x[0], x[1] * x[1] * x[1]});
                       inner.backward(y);
                       for (std::size_t i = 0; i < x.size(); ++i)
                         dx.writable<double>()[i] = x[i].grad() * dy.values<double>()[i];
                       return Gradients{dx};
                     }}};
  const Tensor w = parameter(tensor({2, 3}, f64));
  Tape tape;
  const std::vector<Scalar> s = scalars({5});
  const Tensor y = apply(cube, {w});
  const std::vector<Scalar> parts = unstack(y);
  const Scalar loss = parts[0] * s[0] + parts[1];
  tape.backward(loss);
  CHECK(w.grad().to_vector() == Numbers{12 * 5, 27});
  CHECK(s[0].grad() == 8);
}

TEST_CASE("Scalars that the loss does not read bring the tensors behind them no gradient") {
  const Tensor w = parameter(tensor({2}, f64), "w"), v = parameter(tensor({3}, f64), "v");
  Tape tape;
  const std::vector<Scalar> a = unstack(w);
  const Scalar aside = a[0] * 2;
  const std::vector<Scalar> b = unstack(square(v));
  const Scalar loss = b[0] * b[0];
  tape.backward(loss);
  CHECK(v.grad().to_vector() == Numbers{2 * 9 * 6});
  CHECK_FALSE(w.has_grad());
  CHECK(aside.grad() == 0);
}

TEST_CASE("many tensors taken to Scalars one after the other take time in proportion") {
  const Tensor w = parameter(tensor({1}, f64), "w");
  Tape tape;
  Tensor x = w;
  for (int i = 0; i < 20'000; ++i) {
    const Scalar y = unstack(x)[0] * 1.0;
    x = stack({y});
  }
  tape.backward(x);
  CHECK(w.grad().to_vector() == Numbers{1});
}

TEST_CASE("a sweep that throws leaves the Scalars without gradients, and may be tried again") {
  bool broken = true;
  const Op fragile{"fragile",
                   {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * 1); },
                    .rule =
                        [&broken](const Step&, const Tensor& dy, Needs) {
                          if (broken) throw Error("broken");
                          return Gradients{dy};
                        }}};
  const Tensor w = parameter(tensor({2}, f64));
  Tape tape;
  const std::vector<Scalar> s = scalars({5});
  const Scalar loss = unstack(apply(fragile, {w}))[0] * s[0];
  CHECK(error_of([&] { tape.backward(loss); }) == "broken");
  CHECK(error_of([&] { (void)s[0].grad(); }).starts_with("[grad] this Scalar has no gradient yet"));
  broken = false;
  tape.backward(loss);
  CHECK(s[0].grad() == 2);
  CHECK(w.grad().to_vector() == Numbers{5});
}
