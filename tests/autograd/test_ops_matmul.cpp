#include "autograd/ops/matmul.hpp"

#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

TEST_CASE("matmul follows NumPy's shapes") {
  const auto shape = [](const Shape& a, const Shape& b) { return matmul(zeros(a), zeros(b)).shape(); };
  CHECK(shape({3}, {3}) == Shape{});
  CHECK(shape({3}, {3, 4}) == Shape{4});
  CHECK(shape({2, 3}, {3}) == Shape{2});
  CHECK(shape({5, 2, 3}, {3}) == Shape{5, 2});
  CHECK(shape({3}, {5, 3, 4}) == Shape{5, 4});
  CHECK(shape({2, 1, 2, 3}, {5, 3, 4}) == Shape{2, 5, 2, 4});
  CHECK(shape({2, 0}, {0, 3}) == Shape{2, 3});
  CHECK(all_zero(matmul(zeros({2, 0}), zeros({0, 3}))));
}

TEST_CASE("matmul says what does not fit") {
  CHECK_THROWS_WITH(
      matmul(zeros({32, 784}), zeros({10, 784})),
      Says("[matmul] inner sizes differ: left is (32, 784), right is (10, 784); need left[-1] == right[-2]"));
  CHECK_THROWS_WITH(matmul(zeros({2, 3}), zeros({2, 4}), {.transpose_left = true, .transpose_right = true}),
                    Says("need left[-2] == right[-1]"));
  CHECK_THROWS_WITH(matmul(zeros({2, 3}), zeros({4})), Says("need left[-1] == right[-1]"));
  CHECK_THROWS_WITH(matmul(zeros({2, 2, 3}), zeros({4, 3, 2})), Says("[matmul] shapes do not broadcast"));
  CHECK_THROWS_WITH(matmul(zeros({}), zeros({3})), Says("multiply by a number with *"));
  CHECK_THROWS_WITH(matmul(zeros({3}), zeros({3}), {.transpose_left = true}),
                    Says("a vector cannot be transposed"));
  CHECK_THROWS_WITH(matmul(zeros({3}), zeros({3}, f64)),
                    Says("[matmul] dtypes differ: f32 of shape (3) and f64"));
  CHECK_THROWS_WITH(matmul(zeros({3}, i32), zeros({3}, i32)), Says("[matmul] needs f32 or f64"));
}

TEST_CASE("transposed operands give what transposed copies give") {
  const Tensor a = random({4, 3, 2}, 1), b = random({4, 5, 3}, 2);
  const Tensor plain = matmul(transpose(a), transpose(b));
  CHECK(distance(matmul(a, b, {.transpose_left = true, .transpose_right = true}), plain) < 1e-15);
}

TEST_CASE("linear is x W^T + b for any number of axes") {
  const Tensor x = random({2, 3, 4}, 1), w = random({5, 4}, 2), b = random({5}, 3);
  const Tensor y = linear(x, w, b);
  CHECK(y.shape() == Shape{2, 3, 5});
  CHECK(distance(y, matmul(x, transpose(w)) + b) < 1e-14);
  CHECK(distance(linear(x[0][0], w, b), y[0][0]) < 1e-14);
  CHECK_THROWS_WITH(linear(x, random({5, 3}, 2)),
                    Says("the input is (2, 3, 4), the weight (out, in) (5, 3); need input[-1] == 3"));
  CHECK_THROWS_WITH(linear(x, w, random({4}, 2)), Says("[linear] the bias must be (5)"));
  CHECK_THROWS_WITH(linear(x, random({4}, 2)), Says("the weight must be (out, in); it has shape (4)"));
  CHECK_THROWS_WITH(linear(zeros({}, f64), w), Says("[linear] input and weight do not fit"));
}

TEST_CASE("n uses of one dense layer add up to n times its gradient") {
  const Tensor x = random({3, 4}, 1);
  const Tensor w = parameter(random({2, 4}, 2)), b = parameter(random({2}, 3));
  Tensor once;
  for (int n = 1; n <= 32; ++n) {
    w.clear_grad();
    b.clear_grad();
    Tape tape;
    Tensor total = linear(x, w, b);
    for (int i = 1; i < n; ++i) total = total + linear(x, w, b);
    tape.backward(sum(total));
    if (n == 1) once = w.grad();
    CHECK(distance(w.grad(), once * n) < 1e-14);
    CHECK(numbers(b.grad()) == Numbers{3. * n, 3. * n});
  }
}
