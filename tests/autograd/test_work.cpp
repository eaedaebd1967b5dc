// What ops say of their work: against counts by hand, and that the sizes of freed steps are enough.

#include "autograd/ops/attention.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/loss.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/softmax.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// The work of the last step of a tape, with the gradients of all float inputs wanted.
Work work_of_last(const Tape& tape) {
  const Step step = tape.step(tape.size() - 1);
  REQUIRE(step.op().parts().work);
  std::vector<Shape> inputs;
  Needs needs;
  for (int i = 0; i < step.inputs(); ++i) {
    const int from = step.input_step(i);
    inputs.push_back(from < 0 ? Shape() : tape.step(from).shape());
    if (from >= 0 && is_float(tape.step(from).dtype())) needs.set(static_cast<std::size_t>(i));
  }
  return step.op().parts().work({inputs, step.shape(), needs}, step.attributes());
}

}  // namespace

TEST_CASE("a product is 2 m k n, as is each of its gradients") {
  Tape tape;
  (void)matmul(ones({5, 2, 3}), ones({3, 7}));
  CHECK(work_of_last(tape).forward == 2. * 5 * 2 * 3 * 7);
  CHECK(work_of_last(tape).backward == 2. * work_of_last(tape).forward);
  (void)matmul(ones({3, 2}), ones({7, 3}), {.transpose_left = true, .transpose_right = true});
  CHECK(work_of_last(tape).forward == 2. * 2 * 3 * 7);
  (void)matmul(ones({3}), ones({3}));
  CHECK(work_of_last(tape).forward == 2. * 3);
  (void)linear(ones({4, 3}), ones({7, 3}), ones({7}));
  CHECK(work_of_last(tape).forward == 2. * 4 * 3 * 7 + 4 * 7);
  CHECK(work_of_last(tape).backward == 4. * 4 * 3 * 7 + 4 * 7);
}

TEST_CASE("attention is the work of the ops it is composed of, but for the softmax counted as 5 a score") {
  const Tensor q = ones({2, 5, 6}), k = ones({2, 7, 6}), v = ones({2, 7, 10});
  Tape tape;
  (void)attention(q, k, v, {.heads = 2});
  const double scores = 2 * 2 * 5 * 7;
  CHECK(work_of_last(tape).forward == scores * (2 * 3 + 5 + 2 * 5));
  CHECK(work_of_last(tape).backward == scores * (2 * 5 + 2 * 5 + 5 + 2 * 3 + 2 * 3));
  Tape steps{{.detail = Detail::steps}};
  (void)attention(q, k, v, {.heads = 2});
  double products = 0;
  for (int i = 0; i < steps.size(); ++i) {
    const Step step = steps.step(i);
    if (step.word() == "matmul") {
      const std::vector<Shape> in{steps.step(step.input_step(0)).shape(),
                                  steps.step(step.input_step(1)).shape()};
      products += step.op().parts().work({in, step.shape(), Needs()}, step.attributes()).forward;
    }
  }
  CHECK(products == scores * (2 * 3 + 2 * 5));
}

TEST_CASE("a formula is one operation a number, a reduction one for each number that goes in") {
  Tape tape;
  (void)(ones({4, 1}) * ones({3}));
  CHECK(work_of_last(tape).forward == 12);
  CHECK(work_of_last(tape).backward == 24);
  (void)sum(ones({4, 3}), 0);
  CHECK(work_of_last(tape).forward == 12);
  CHECK(work_of_last(tape).backward == 0);
  (void)softmax(ones({4, 3}));
  CHECK(work_of_last(tape).forward == 48);
  (void)layer_norm(ones({4, 3}), ones({3}), ones({3}));
  CHECK(work_of_last(tape).forward == 7 * 12);
  CHECK(work_of_last(tape).backward == 13 * 12);
}

TEST_CASE("gradients that nobody wants are no work") {
  const std::vector<Shape> in{{4, 3}, {7, 3}};
  const Shape out{4, 7};
  Tape tape;
  (void)linear(ones({4, 3}), ones({7, 3}));
  const auto& work = tape.step(tape.size() - 1).op().parts().work;
  Needs weight;
  weight.set(1);
  CHECK(work({in, out, Needs()}, {}).backward == 0);
  CHECK(work({in, out, weight}, {}).backward == 2. * 4 * 3 * 7);
}
