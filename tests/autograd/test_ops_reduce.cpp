#include "autograd/ops/reduce.hpp"

#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

TEST_CASE("the extreme of an empty axis is refused, its sum and mean are 0") {
  const Tensor x = zeros({0, 10}, f64);
  CHECK_THROWS_WITH(max(x, 0), Says("[max] axis 0 of shape (0, 10) is empty"));
  CHECK_THROWS_WITH(min(x, 0), Says("[min] axis 0 of shape (0, 10) is empty"));
  CHECK_THROWS_WITH(max(x), Says("[max] axis 0 of shape (0, 10) is empty"));
  CHECK_THROWS_WITH(argmax(x, 0), Says("[argmax] axis 0 of shape (0, 10) is empty"));
  CHECK(max(x, 1).shape() == Shape{0});
  CHECK(numbers(sum(x, 0)) == Numbers(10, 0));
  CHECK(numbers(mean(x, 0)) == Numbers(10, 0));
  CHECK(mean(x).item() == 0);
  CHECK(gradient_at([](const Tensor& t) { return mean(t); }, x).shape() == Shape{0, 10});
  CHECK(numbers(logsumexp(x, 0)) == Numbers(10, -infinity));
}

TEST_CASE("the deviation of equal numbers has gradient 0") {
  const Tensor x = full({16}, 1, f64);
  CHECK(stddev(x).item() == 0);
  CHECK(all_zero(gradient_at([](const Tensor& t) { return stddev(t); }, x)));
  CHECK(all_zero(gradient_at([](const Tensor& t) { return norm(t); }, zeros({3}, f64))));
  Tape tape;  // and so does the gradient of the gradient
  const Tensor y = stddev(x);
  const Tensor g = tape.gradient(y, {x}, {.record = true})[0];
  CHECK(finite(tape.gradient(sum(g), {x})[0]));
}

TEST_CASE("ties of max share the gradient, which adds up to 1") {
  const Tensor x = tensor({.6, .6, .3}, f64);
  CHECK(numbers(gradient_at([](const Tensor& t) { return max(t); }, x)) == Numbers{.5, .5, 0});
  CHECK(numbers(gradient_at([](const Tensor& t) { return min(t, {0}); }, -x)) == Numbers{.5, .5, 0});
  const Tensor same = zeros({2, 3}, f64);
  CHECK(numbers(gradient_at([](const Tensor& t) { return max(t, {0, 1}); }, same)) == Numbers(6, 1. / 6));
}

TEST_CASE("reducing the only axis gives shape () and gradients of the input's shape") {
  const Tensor five = ones({5}, f64);
  CHECK(sum(arange(5)).shape() == Shape{});
  CHECK(sum(arange(5)).item() == 10);
  const auto f = [](const Tensor& t) { return mean(pow(t, 2), 0); };
  CHECK(f(five).shape() == Shape{});
  CHECK(numbers(gradient_at(f, five)) == Numbers(5, 0.4));
  const Tensor dot = gradient_at([](const Tensor& t) { return squeeze(t); }, ones({1, 1}, f64));
  CHECK(dot.shape() == Shape{1, 1});
}

TEST_CASE("axes may be several, negative, and kept") {
  const Tensor x = reshape(arange(24, f64), {2, 3, 4});
  CHECK(sum(x, {0, -1}).shape() == Shape{3});
  CHECK(numbers(sum(x, {0, -1})) == Numbers{60, 92, 124});
  CHECK(max(x, {-1, 0}, true).shape() == Shape{1, 3, 1});
  CHECK(numbers(max(x, {-1, 0}, true)) == Numbers{15, 19, 23});
  CHECK(sum(x, std::vector<int>{}).shape() == x.shape());
  CHECK(mean(x, 1, true).shape() == Shape{2, 1, 4});
  CHECK_THROWS_WITH(sum(x, {0, -3}), Says("[sum] axis 0 of shape (2, 3, 4) was given twice"));
  CHECK_THROWS_WITH(mean(x, 3),
                    Says("[mean] there is no axis 3: the shape is (2, 3, 4), so axes run from -3 to 2"));
  CHECK_THROWS_WITH(sum(zeros({2}, i32)), Says("[sum] needs f32 or f64; the tensor of shape (2) is i32"));
}

TEST_CASE("variance needs more numbers than its correction") {
  CHECK_THROWS_WITH(var(ones({1})),
                    Says("[var] 1 numbers of shape (1) with correction 1: would divide by 0"));
  CHECK_THROWS_WITH(stddev(zeros({2, 0}), 1), Says("[std] 0 numbers of shape (2, 0)"));
  CHECK(var(ones({1}), 0, false, 0).item() == 0);
  CHECK(var(tensor({1, 2, 3, 4}, f64)).item() == Approx(5. / 3));
  CHECK(var(tensor({1, 2, 3, 4}, f64), 0, false, 0).item() == Approx(1.25));
}

TEST_CASE("extremes and argmax point at NaN") {
  const Tensor x = tensor({1, no_number, 3}, f64);
  CHECK(std::isnan(max(x).item()));
  CHECK(std::isnan(min(x).item()));
  CHECK(argmax(x, 0).item() == 1);
  CHECK(argmax(tensor({2, 5, 5}, f64), 0).item() == 1);
}

TEST_CASE("log-sum-exp keeps clear of overflow and of minus infinity") {
  CHECK(logsumexp(tensor({1000, 1000}, f32), 0).item() == Approx(1000 + std::log(2.)));
  const Tensor none = tensor({-infinity, -infinity}, f64);
  CHECK(logsumexp(none, 0).item() == -infinity);
  CHECK(all_zero(gradient_at([](const Tensor& t) { return logsumexp(t, 0); }, none)));
}

TEST_CASE("a running sum runs along its axis") {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}}, f64);
  CHECK(numbers(cumsum(x, 1)) == Numbers{1, 3, 6, 4, 9, 15});
  CHECK(numbers(cumsum(x, 0)) == Numbers{1, 2, 3, 5, 7, 9});
  CHECK(numbers(gradient_at([](const Tensor& t) { return sum(cumsum(t, 1)); }, x)) ==
        Numbers{3, 2, 1, 3, 2, 1});
}

TEST_CASE("the sum of many f32 numbers keeps its digits") {
  const Tensor x = full({1 << 22}, 0.1, f32);
  CHECK(sum(x).item() == Approx(0.1f * (1 << 22)).epsilon(1e-6));
}
