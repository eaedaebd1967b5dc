#include "autograd/tape.hpp"

#include <functional>
#include <thread>

#include "autograd/ops/compare.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/gradcheck.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

Tensor leaf(double value, const char* name = "") { return parameter(full({}, value, f64), name); }

// How many handles there are on a tensor.
std::uint32_t handles(const Tensor& x) { return detail::Body::of(x)->uses.load(); }

// The line of this file that a text names: "test_tape.cpp:LINE".
std::string line(Where where = Where::current()) { return fmt::format("test_tape.cpp:{}", where.line()); }

}  // namespace

TEST_CASE("a node that is used twice gets both gradients before it passes them on") {
  const Tensor a = leaf(1);
  Tape tape;
  const Tensor b = a + a;
  const Tensor c = b + b;
  tape.backward(c);
  CHECK(a.grad().item() == 4);
  CHECK(tape.grad(b).item() == 2);
}

TEST_CASE("branches that meet again are each walked once") {
  const Tensor x = leaf(2);
  {
    Tape tape;
    const Tensor y = 3 * x;
    const Tensor a = 2 * y, b = 5 * y;
    tape.backward(a + b);
    CHECK(x.grad().item() == 21);
  }
  const Tensor u = leaf(1), v = leaf(1);
  Tape tape;
  const Tensor first = u * (u * v), second = u * u * v, third = u * (u * v);
  tape.backward(first + second + third);
  CHECK(u.grad().item() == 6);
  CHECK(v.grad().item() == 3);
}

TEST_CASE("gradients of several tapes add up until they are cleared, and none is not 0") {
  const Tensor x = leaf(3, "x");
  CHECK_FALSE(x.has_grad());
  CHECK_THROWS_WITH(x.grad(), Says("[grad] parameter 'x' of shape () has no gradient"));
  for (int i = 1; i <= 3; ++i) {
    Tape tape;
    tape.backward(square(x));
    CHECK(x.grad().item() == 6 * i);
  }
  x.clear_grad();
  CHECK_FALSE(x.has_grad());
}

TEST_CASE("a second backward is refused, naming the first and the cure") {
  const Tensor x = leaf(3);
  Tape tape;
  const Tensor y = square(x);
  tape.backward(y);
  const std::string first = fmt::format("test_tape.cpp:{}", Where::current().line() - 1);
  CHECK_THROWS_WITH(tape.backward(y), Says(first));
  CHECK_THROWS_WITH(tape.backward(y), Says("Make a new tape for a new pass, or use tape.gradient"));
  CHECK(x.grad().item() == 6);
  CHECK(tape.gradient(y, {x})[0].item() == 6);  // may still be asked
  CHECK(tape.gradient(y, {x})[0].item() == 6);
  CHECK(x.grad().item() == 6);
}

TEST_CASE("backward says what it cannot start from") {
  const Tensor x = leaf(3), w = parameter(random({2, 3}, 1), "w");
  const Tensor before = square(x);
  Tape tape;
  CHECK_THROWS_WITH(tape.backward(before), Says("[backward] the tensor of shape () is not on this tape"));
  CHECK_THROWS_WITH(tape.backward(Tensor()), Says("[backward]"));
  CHECK_THROWS_WITH(tape.backward(square(w)), Says("starts from one number; this tensor has shape (2, 3)"));
  CHECK_THROWS_WITH(tape.backward(square(w), {.upstream = zeros({3, 2}, f64)}),
                    Says("the upstream gradient is (3, 2)"));
  CHECK_THROWS_WITH(tape.backward(square(w), {.upstream = zeros({2, 3})}), Says("of f32"));
  const Tensor constant = square(tensor(2, f64));
  CHECK_THROWS_WITH(tape.backward(constant), Says("no parameter leads to this tensor"));
  CHECK_THROWS_WITH(tape.backward(greater(x, 0)), Says("has dtype i32"));
  CHECK_THROWS_WITH(tape.grad(x), Says("[grad]"));
  tape.backward(sum(square(w)));  // none of these used up the one backward
  CHECK(distance(w.grad(), w * 2) < 1e-15);
}

TEST_CASE("an upstream gradient starts from a tensor of any shape") {
  const Tensor w = parameter(tensor({1, 2, 3}, f64));
  Tape tape;
  tape.backward(square(w), {.upstream = tensor({1, 10, 100}, f64)});
  CHECK(numbers(w.grad()) == Numbers{2, 40, 600});
}

TEST_CASE("nothing is recorded without a tape, and a tensor that outlives its tape is a constant") {
  const Tensor x = leaf(2);
  Tensor y;
  {
    Tape tape;
    y = square(x);
    CHECK(tape.step_of(y) == 1);
  }
  const Tensor z = square(y);
  Tape tape;
  CHECK(tape.step_of(z) == -1);
  const Tensor u = z * y * x;
  CHECK(tape.step(tape.step_of(y)).kind() == StepKind::constant);
  tape.backward(u);
  CHECK(x.grad().item() == 64);
}

TEST_CASE("a running total does not keep the tapes it came from") {
  const Tensor x = leaf(1);
  Tensor total = zeros({}, f64);
  int steps = 0;
  for (int i = 0; i < 10000; ++i) {
    Tape tape;
    total = total + square(x);
    if (i == 0) steps = tape.size();
    REQUIRE(tape.size() == steps);
  }
  CHECK(total.item() == 10000);
  CHECK(handles(x) == 1);
  CHECK(handles(total) == 1);
}

TEST_CASE("recorded gradients leave nothing behind when the tape ends") {
  const Tensor x = leaf(0.5);
  for (int i = 0; i < 10000; ++i) {
    Tape tape;
    const Tensor y = tanh(x);
    const Tensor dy = tape.gradient(y, {x}, {.record = true})[0];
    const Tensor ddy = tape.gradient(dy, {x})[0];
    const double t = std::tanh(0.5);
    REQUIRE(ddy.item() == Approx(-2 * t * (1 - t * t)));
  }
  CHECK(handles(x) == 1);
}

TEST_CASE("gradients of gradients") {
  const Tensor x = leaf(3);
  Tape tape;
  const Tensor y = x * x * x;
  const Tensor first = tape.gradient(y, {x}, {.record = true})[0];
  const Tensor second = tape.gradient(first, {x}, {.record = true})[0];
  CHECK(first.item() == 27);
  CHECK(second.item() == 18);
  bool marked = false;
  for (int i = 0; i < tape.size(); ++i) marked = marked || tape.step(i).gradient_of() == tape.step_of(y);
  CHECK(marked);
  CHECK_FALSE(x.has_grad());
  CHECK_THROWS_WITH(tape.gradient(second, {x}), Says("third derivatives of a formula are not known"));
  tape.backward(first);  // and backward through one reaches the parameter
  CHECK(x.grad().item() == 18);
}

TEST_CASE("gradient is 0 where there is no path, and takes tensors in the middle") {
  const Tensor x = leaf(3), unused = leaf(1);
  Tape tape;
  const Tensor other = square(unused);
  const Tensor y = square(x);
  const Tensor z = exp(y) + y;
  const auto found = tape.gradient(z, {y, x, unused, z});
  CHECK(found[0].item() == Approx(std::exp(9) + 1));
  CHECK(found[1].item() == Approx(6 * (std::exp(9) + 1)));
  CHECK(found[2].item() == 0);
  CHECK(found[3].item() == 1);
  CHECK(other.item() == 1);
  CHECK_THROWS_WITH(tape.gradient(z, {leaf(2)}),
                    Says("[gradient] tensor 0 of 1, shape (), is not on this tape"));
}

TEST_CASE("a rule that reads what forward saved is refused in a recorded sweep, not silently wrong") {
  // forward saves 2x, the rule uses it: right once, without any path back to x
  const Op op{"doubled square",
              {.forward =
                   [](Inputs in, const Attributes&) {
                     const Tensor twice = in[0] * 2;
                     return Computed(square(in[0]), {twice});
                   },
               .rule = [](const Step& s, const Tensor& dy, Needs) { return Gradients{dy * s.saved(0)}; }}};
  const Tensor x = leaf(3);
  Tape tape;
  const Tensor y = apply(op, {x});
  CHECK(tape.gradient(y, {x})[0].item() == 6);
  CHECK_THROWS_WITH(tape.gradient(y, {x}, {.record = true}),
                    Says("[doubled square] the rule reads what forward saved (step 1) in a recorded sweep"));
  CHECK(tape.step(1).saved(0).item() == 6);  // an inspector may look
  tape.backward(y);
  CHECK(x.grad().item() == 6);
}

TEST_CASE("a paused tape records a mark for what was skipped, once for each tensor") {
  const Tensor x = leaf(2);
  Tape tape;
  const Tensor y = square(x);
  Tensor a, b;
  {
    const Tape::Pause pause;
    a = exp(y);
    b = sin(y);
  }
  CHECK(tape.size() == 3);
  const Step mark = tape.step(2);
  CHECK(mark.kind() == StepKind::paused);
  CHECK(mark.word() == "paused");
  CHECK(mark.op().word() == "exp");
  CHECK(mark.input_step(0) == tape.step_of(y));
  CHECK_THROWS_WITH(mark.output(), Says("was not kept: the tape was paused"));
  CHECK_THROWS_WITH(tape.backward(a), Says("was computed while the tape was paused (step 2"));
  const Tensor z = y * a * b;  // both are constants here
  tape.backward(z);
  CHECK(x.grad().item() == Approx(std::exp(4) * std::sin(4) * 4));
}

TEST_CASE("tapes nest, the innermost records, and another live tape's tensors are foreign") {
  const Tensor x = leaf(2);
  Tape outer;
  const Tensor y = square(x);
  const int steps = outer.size();
  {
    Tape inner;
    CHECK(Tape::current() == &inner);
    const Tensor z = y * x;
    CHECK(inner.step(inner.step_of(y)).kind() == StepKind::foreign);
    CHECK(outer.size() == steps);
    inner.backward(z);
    CHECK(x.grad().item() == 4);  // y counts as a constant
  }
  CHECK(Tape::current() == &outer);
  x.clear_grad();
  outer.backward(y * x);
  CHECK(x.grad().item() == 12);
}

TEST_CASE("tapes may end in any order") {
  auto first = std::make_unique<Tape>();
  auto second = std::make_unique<Tape>();
  auto third = std::make_unique<Tape>();
  second.reset();
  CHECK(Tape::current() == third.get());
  third.reset();
  CHECK(Tape::current() == first.get());
  first.reset();
  CHECK(Tape::current() == nullptr);
}

TEST_CASE("with Keep::leaves the sweep frees what it passed, and says so") {
  const Tensor x = leaf(2);
  Tape tape{{.keep = Keep::leaves}};
  const Tensor y = square(x);
  const Tensor z = exp(y);
  tape.backward(z);
  CHECK(x.grad().item() == Approx(4 * std::exp(4)));
  CHECK_THROWS_WITH(tape.grad(y), Says("Keep::all keeps it"));
  const Step step = tape.step(tape.step_of(z));
  CHECK_THROWS_WITH(step.output(), Says("freed as backward passed"));
  CHECK_THROWS_WITH(step.input(0), Says("freed as backward passed"));
  CHECK(step.shape() == Shape{});
  CHECK(step.reached());
  CHECK_THROWS_WITH(tape.gradient(z, {x}), Says("freed"));
}

TEST_CASE("a frozen parameter gets no gradient") {
  const Tensor x = leaf(2), y = leaf(3);
  x.set_frozen(true);
  Tape tape;
  tape.backward(x * y);
  CHECK_FALSE(x.has_grad());
  CHECK(y.grad().item() == 2);
  CHECK_THROWS_WITH(tensor(1).set_frozen(true), Says("[freeze] only a parameter can be frozen"));
}

TEST_CASE("a rule that fails leaves all gradients as they were") {
  const Op op{"broken",
              {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * 1); },
               .rule = [](const Step&, const Tensor&, Needs) -> Gradients { fail("[broken] on purpose"); }}};
  const Tensor x = leaf(2), y = leaf(3);
  Tape tape;
  const Tensor z = square(y) + apply(op, {x});
  CHECK_THROWS_WITH(tape.backward(z), Says("[broken] on purpose"));
  CHECK_FALSE(x.has_grad());
  CHECK_FALSE(y.has_grad());
}

TEST_CASE("rules are checked for count, shape and dtype, and the op is named") {
  const auto with_rule = [](std::function<Gradients(const Step&, const Tensor&, Needs)> rule) {
    const Op op{"odd",
                {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] + 1); }, .rule = rule}};
    const Tensor x = parameter(zeros({2}, f64));
    Tape tape;
    tape.backward(apply(op, {x}), {.upstream = ones({2}, f64)});
  };
  CHECK_THROWS_WITH(with_rule([](const Step&, const Tensor& dy, Needs) {
                      return Gradients{dy, dy};
                    }),
                    Says("[odd] the rule gave 2 gradients for 1 inputs (step 1)"));
  CHECK_THROWS_WITH(with_rule([](const Step&, const Tensor&, Needs) { return Gradients{zeros({1}, f64)}; }),
                    Says("[odd] the rule's gradient for input 0 is (1) of f64; the input is (2) of f64"));
  CHECK_THROWS_WITH(with_rule([](const Step&, const Tensor&, Needs) { return Gradients{zeros({2})}; }),
                    Says("of f32"));
  CHECK_NOTHROW(with_rule([](const Step&, const Tensor&, Needs) { return Gradients{Tensor()}; }));
  const Op nothing{"nothing", {.forward = [](Inputs, const Attributes&) { return Computed(Tensor()); }}};
  CHECK_THROWS_WITH(apply(nothing, {leaf(1)}), Says("[nothing] forward gave back no tensor"));
  CHECK_THROWS_WITH(square(Tensor()), Says("never given a value"));
  CHECK_THROWS_WITH(Op("", {.forward = [](Inputs in, const Attributes&) { return Computed(in[0]); }}),
                    Says("[op] an op needs a word"));
  CHECK_THROWS_WITH(Op("idle", {}), Says("[op] 'idle' has no forward"));
}

TEST_CASE("steps know their line, role, path and name") {
  const Tensor x = leaf(2, "x");
  Tape tape;
  Tensor y;
  std::string called, inner;
  {
    const Scope scope("attend");
    const Role role("key");
    const Scope deeper("query");
    y = named(square(x), "y"), inner = line();
  }
  const Step step = tape.step(tape.step_of(y));
  CHECK(step.path() == "attend.query");
  CHECK(step.role() == "key");
  CHECK(step.name() == "y");
  CHECK(to_string(step.where()) == inner);
  CHECK(tape.step(0).name() == "x");
  const Tensor z = y + 1;
  CHECK(tape.step(tape.step_of(z)).path().empty());
  CHECK(tape.step(tape.step_of(z)).role().empty());
  CHECK(tape.step(tape.step_of(z)).input_step(1) == -1);  // a plain number is no step
  CHECK(to_string(tape.step(tape.step_of(2.0 * y)).where()) == line());
  const Tensor both = stack({y, z});
  CHECK(to_string(tape.step(tape.step_of(both[-1])).where()) == line());
}

TEST_CASE("an op's inputs have smaller numbers than its step") {
  const Tensor x = parameter(random({3, 3}, 1));
  Tape tape;
  const Tensor y = sum(matmul(tanh(x), x) * x);
  (void)tape.gradient(y, {x}, {.record = true});
  for (int i = 0; i < tape.size(); ++i)
    for (int k = 0; k < tape.step(i).inputs(); ++k) CHECK(tape.step(i).input_step(k) < i);
}

TEST_CASE("backward from another thread is refused") {
  const Tensor x = leaf(2);
  Tape tape;
  const Tensor y = square(x);
  std::string text;
  std::thread([&] {
    try {
      tape.backward(y);
    } catch (const Error& error) {
      text = error.what();
    }
  }).join();
  CHECK_THAT(text, Says("a tape belongs to the thread that made it"));
  tape.backward(y);
  CHECK(x.grad().item() == 4);
}

TEST_CASE("threads with tapes of their own add to one parameter", "[threads]") {
  const Tensor w = parameter(ones({100}, f64));
  constexpr int count = 4, passes = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < passes; ++i) {
        Tape tape{{.keep = i % 2 ? Keep::all : Keep::leaves}};
        tape.backward(sum(square(w)));
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(same_numbers(w.grad(), full({100}, 2. * count * passes, f64)));
  CHECK(handles(w) == 1);
}

TEST_CASE("random graphs agree with central differences") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    INFO("seed " << seed);
    const auto graph = [seed](Inputs in) {
      Rng rng(seed);
      std::vector<Tensor> nodes(in.begin(), in.end());
      const auto pick = [&] { return nodes[rng.below(nodes.size())]; };
      for (int i = 0; i < 20; ++i) {
        const Tensor a = pick(), b = pick();
        switch (rng.below(8)) {
          case 0:
            nodes.push_back(a + b);
            break;
          case 1:
            nodes.push_back(tanh(a) * b);
            break;
          case 2:
            nodes.push_back(tanh(matmul(a, b)));
            break;
          case 3:
            nodes.push_back(sigmoid(a - b));
            break;
          case 4:
            nodes.push_back(a - mean(b, 0));
            break;
          case 5:
            nodes.push_back(transpose(tanh(a)));
            break;
          case 6:
            nodes.push_back(slice(concat({a, b}, 0), 0, 1, 4));
            break;
          default:
            nodes.push_back(sin(a) / (1 + square(b)));
        }
      }
      Tensor total = nodes.back();
      for (const Tensor& node : nodes) total = total + tanh(node);
      return total;
    };
    CHECK_NOTHROW(gradcheck("the graph", graph, std::vector{random({3, 3}, seed), random({3, 3}, seed + 100)},
                            {.second = true, .absolute = 1e-7}));
  }
}
