#include "autograd/ops/softmax.hpp"

#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/reduce.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

TEST_CASE("log-softmax and softmax of rows without numbers keep their shape, forward and backward") {
  const Tensor x = zeros({10, 0}, f64);
  for (const auto f : {softmax, log_softmax}) {
    CHECK(f(x, 1).shape() == Shape{10, 0});
    const Tensor dx = gradient_at([&](const Tensor& t) { return f(t, 1); }, x, zeros({10, 0}, f64));
    CHECK(dx.shape() == Shape{10, 0});
    CHECK(f(x, 0).shape() == Shape{10, 0});
  }
}

TEST_CASE("softmax along any axis is the softmax of its rows") {
  const Tensor x = random({2, 3, 4}, 1);
  CHECK(distance(sum(softmax(x, 0), 0), ones({3, 4}, f64)) < 1e-15);
  CHECK(distance(sum(softmax(x, 1), 1), ones({2, 4}, f64)) < 1e-15);
  CHECK(distance(exp(log_softmax(x, 1)), softmax(x, 1)) < 1e-15);
}

TEST_CASE("softmax of large scores overflows nowhere") {
  const Tensor y = softmax(tensor({1000, 999, -1000}, f32));
  CHECK(numbers(y)[0] == Approx(0.7310586));
  CHECK(numbers(y)[2] == 0);
  CHECK(numbers(log_softmax(tensor({1000, 0}, f32)))[1] == -1000);
}

TEST_CASE("softmax of a row of minus infinity is NaN, masked softmax of nothing zero") {
  const Tensor x = tensor({{-infinity, -infinity}, {0, -infinity}}, f64);
  CHECK(std::isnan(numbers(softmax(x))[0]));
  CHECK(numbers(softmax(x))[2] == 1);
  const Tensor none = masked_softmax(random({2, 2}, 1), tensor({{0, 0}, {1, 1}}, i32));
  CHECK(all_zero(none[0]));
  CHECK(sum(none[1]).item() == Approx(1));
}

TEST_CASE("what is masked reaches no fraction and no gradient") {
  const Tensor x = tensor({no_number, 1, 2, infinity}, f64), mask = tensor({0, 1, 1, 0}, i32);
  const Tensor dx = gradient_at([&](const Tensor& t) { return masked_softmax(t, mask); }, x,
                                tensor({no_number, 1, 2, infinity}, f64));
  CHECK(numbers(masked_softmax(x, mask))[0] == 0);
  CHECK(numbers(masked_softmax(x, mask))[1] == Approx(1 / (1 + std::exp(1.))));
  CHECK(numbers(dx)[0] == 0);
  CHECK(numbers(dx)[1] == Approx(-numbers(dx)[2]));
  CHECK(numbers(dx)[3] == 0);
}

TEST_CASE("layer norm of equal numbers is the bias, with finite gradients") {
  const Tensor x = full({2, 3}, 5, f64), w = tensor({1, 2, 3}, f64), b = tensor({4, 5, 6}, f64);
  CHECK(numbers(layer_norm(x, w, b)) == Numbers{4, 5, 6, 4, 5, 6});
  const auto f = [](const std::vector<Tensor>& in) { return layer_norm(in[0], in[1], in[2]); };
  for (const Tensor& gradient : gradients_at(f, {x, w, b}, random({2, 3}, 1))) CHECK(finite(gradient));
}

TEST_CASE("softmax and layer norm say what does not fit") {
  CHECK_THROWS_WITH(softmax(zeros({2, 3}), 2), Says("[softmax] there is no axis 2: the shape is (2, 3)"));
  CHECK_THROWS_WITH(softmax(zeros({}, f64)), Says("[softmax] there is no axis -1"));
  CHECK_THROWS_WITH(log_softmax(zeros({2}, i32)), Says("[log_softmax] needs f32 or f64"));
  CHECK_THROWS_WITH(masked_softmax(zeros({2, 3}), zeros({2, 2}, i32)),
                    Says("[masked_softmax] shapes do not broadcast"));
  CHECK_THROWS_WITH(masked_softmax(zeros({3}), zeros({2, 3}, i32)),
                    Says("the mask (2, 3) does not broadcast to the tensor (3)"));
  CHECK_THROWS_WITH(layer_norm(zeros({2, 3}), zeros({2}), zeros({3})),
                    Says("[layer_norm] weight and bias must be (3)"));
}
