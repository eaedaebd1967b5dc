// What holds for every op, derived from the table of ops.

#include <set>

#include "autograd/kernels/threads.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/ops/gradcheck.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/softmax.hpp"
#include "autograd/ops/support.hpp"
#include "tests/autograd/op_table.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

std::string title(const OpRow& row, const std::vector<Tensor>& inputs) {
  std::string text = row.word + " of";
  for (const Tensor& x : inputs) text += fmt::format(" {} {}", name_of(x.dtype()), x.shape());
  return text;
}

// Calls test(row, inputs) for every case of the table, with marks or only with them.
template <class F>
void for_each_case(bool marks, F&& test) {
  for (const OpRow& row : op_table())
    if (row.mark == marks)
      for (const std::vector<Tensor>& inputs : row.cases) {
        INFO(title(row, inputs));
        test(row, inputs);
      }
}

std::vector<Tensor> as(DType dtype, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> out;
  for (const Tensor& x : inputs) out.push_back(is_float(x.dtype()) ? x.to(dtype) : x);
  return out;
}

// The output and the gradients of the float inputs, as backward brings them to parameters.
struct Result {
  Tensor y;
  std::vector<Tensor> gradients;
};

Result run(const OpRow& row, const std::vector<Tensor>& inputs, const TapeOptions& options = {}) {
  Result result;
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) leaves.push_back(is_float(x.dtype()) ? parameter(x) : x);
  Tape tape(options);
  result.y = row.f(leaves);
  const int from = tape.step_of(result.y);
  if (from >= 0 && tape.step(from).needs_gradient())
    tape.backward(result.y, {.upstream = random(result.y.shape(), 5).to(result.y.dtype())});
  for (const Tensor& x : leaves)
    if (is_float(x.dtype()))
      result.gradients.push_back(x.has_grad() ? x.grad() : zeros(x.shape(), x.dtype()));
  return result;
}

double distance(const Result& a, const Result& b, double least_scale = 1) {
  double worst = tests::distance(a.y, b.y, least_scale);
  for (std::size_t i = 0; i < a.gradients.size(); ++i)
    worst = std::max(worst, tests::distance(a.gradients[i], b.gradients[i], least_scale));
  return worst;
}

// Ops that need a tape of their own around them, or that differ between f32 and f64 by their nature.
bool reached_through_a_sweep(const OpRow& row) {
  return row.word == "softmax_gradient" || row.word == "spread_rows";
}

}  // namespace

TEST_CASE("every op of the library has a row in the table") {
  std::set<std::string> rows;
  for (const OpRow& row : op_table()) rows.insert(row.word);
  for (const std::string& word : detail::built_in_words()) {
    INFO(word);
    CHECK(rows.contains(word));
  }
  CHECK(rows.size() == detail::built_in_words().size());
}

TEST_CASE("every row of the table ends in the op it is named after") {
  for (const OpRow& row : op_table()) {
    INFO(title(row, row.cases.front()));
    Tape tape;
    const Tensor y = row.f(row.cases.front());
    const Step step = tape.step(tape.step_of(y));
    CHECK(step.word() == row.word);
    CHECK(step.op().differentiable() != row.mark);
  }
}

TEST_CASE("gradients and their derivatives agree with central differences") {
  for_each_case(false, [](const OpRow& row, const std::vector<Tensor>& inputs) {
    CHECK_NOTHROW(gradcheck(row.word, row.f, inputs, {.second = !reached_through_a_sweep(row)}));
  });
}

TEST_CASE("no gradient passes a mark") {
  for_each_case(true, [](const OpRow& row, const std::vector<Tensor>& inputs) {
    std::vector<Tensor> leaves;
    for (const Tensor& x : inputs) leaves.push_back(is_float(x.dtype()) ? parameter(x) : x);
    Tape tape;
    const Tensor y = row.f(leaves);
    CHECK_FALSE(tape.step(tape.step_of(y)).needs_gradient());
  });
}

TEST_CASE("recorded in steps, an op gives the same") {
  bool any_in_steps = false;
  for_each_case(false, [&](const OpRow& row, const std::vector<Tensor>& inputs) {
    const Result fused = run(row, inputs);
    CHECK(distance(run(row, inputs, {.detail = Detail::steps}), fused) < 1e-12);
    const auto narrow = as(f32, inputs);
    if (!reached_through_a_sweep(row) && row.word != "cast")
      CHECK(distance(run(row, narrow, {.detail = Detail::steps}), run(row, narrow)) < 1e-5);
    Tape tape{{.detail = Detail::steps}};
    const Tensor y = row.f(inputs);
    any_in_steps = any_in_steps || tape.step(tape.step_of(y)).word() != row.word;
  });
  CHECK(any_in_steps);
}

TEST_CASE("freeing the tape as the sweep passes changes no bit") {
  for_each_case(false, [](const OpRow& row, const std::vector<Tensor>& inputs) {
    CHECK(distance(run(row, inputs, {.keep = Keep::leaves}), run(row, inputs)) == 0);
  });
}

TEST_CASE("a step applied again to what it read gives what it gave") {
  for (const bool marks : {false, true})
    for_each_case(marks, [](const OpRow& row, const std::vector<Tensor>& inputs) {
      Tape tape;
      const Tensor y = row.f(inputs);
      const int steps = tape.size();
      for (int number = 0; number < steps; ++number) {
        const Step step = tape.step(number);
        if (step.kind() != StepKind::op) continue;
        std::vector<Tensor> read;
        for (int i = 0; i < step.inputs(); ++i) read.push_back(step.input(i));
        INFO(step.word());
        CHECK(same_numbers(step.op().parts().forward(read, step.attributes()).output, step.output()));
      }
      CHECK(y.defined());
    });
}

TEST_CASE("f32 comes within 1e-5 of f64") {
  for_each_case(false, [](const OpRow& row, const std::vector<Tensor>& inputs) {
    if (reached_through_a_sweep(row) || row.word == "cast") return;
    const auto narrow = as(f32, inputs);
    const Result wide = run(row, as(f64, narrow)), got = run(row, narrow);
    REQUIRE(got.y.dtype() == f32);
    CHECK(tests::distance(got.y.to(f64), wide.y) < 1e-5);
    for (std::size_t i = 0; i < got.gradients.size(); ++i)
      CHECK(tests::distance(got.gradients[i].to(f64), wide.gradients[i]) < 1e-5);
  });
}

TEST_CASE("the same tensor on both sides gets both gradients") {
  int tried = 0;
  for_each_case(false, [&](const OpRow& row, const std::vector<Tensor>& inputs) {
    if (inputs.size() < 2 || !is_float(inputs[0].dtype()) || !is_float(inputs[1].dtype()) ||
        inputs[0].shape() != inputs[1].shape() || row.word == "softmax_gradient")
      return;
    if (row.word == "maximum" || row.word == "minimum" || row.word == "mse")
      return;  // a kink; tests of their own
    ++tried;
    std::vector<Tensor> twice = inputs;
    twice[1] = twice[0];
    Tape tape;
    const Tensor y = row.f(twice);
    const Tensor upstream = random(y.shape(), 9);
    const Tensor both = tape.gradient(y, {twice[0]}, {.upstream = upstream})[0];
    std::vector<Tensor> apart = inputs;
    apart[1] = with_shape(apart[0], apart[0].shape());
    const Tensor z = row.f(apart);
    const auto each = tape.gradient(z, {apart[0], apart[1]}, {.upstream = upstream});
    CHECK(tests::distance(both, added(each[0], each[1])) < 1e-13);
  });
  CHECK(tried > 10);
}

TEST_CASE("a rule that is wrong by a tenth of a percent is caught") {
  const Tensor x = random({2, 3}, 3), w = random({2, 3}, 4);
  const auto check = [&](double factor) {
    static double off;
    off = factor;
    const Op op{"almost",
                {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * in[1]); },
                 .rule =
                     [](const Step& s, const Tensor& dy, Needs) {
                       return Gradients{dy * s.input(1), dy * s.input(0) * off};
                     }}};
    gradcheck(op, {x, w});
  };
  CHECK_NOTHROW(check(1));
  CHECK_THROWS_WITH(check(1.001), Says("[gradcheck] almost, argument 1 of shape (2, 3), element [0, 0]"));
  CHECK_THROWS_WITH(check(0.999), Says("the analytic gradient is"));
}

TEST_CASE("a softmax rule that is wrong by a factor of two is caught") {
  // under an upstream gradient of ones it gives 0, as the right one does
  const Op op{"softmax",
              {.forward = [](Inputs in, const Attributes&) { return Computed(softmax(in[0])); },
               .rule =
                   [](const Step& s, const Tensor& dy, Needs) {
                     const Tensor& y = s.output();
                     const Tensor total = sum(y * dy, -1, true);
                     return Gradients{2 * y * (dy - total)};
                   }}};
  CHECK_THROWS_WITH(gradcheck(op, {random({2, 3}, 3)}), Says("[gradcheck] softmax, argument 0"));
}
