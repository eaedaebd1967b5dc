#include "autograd/ops/dropout.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/pool.hpp"
#include "autograd/ops/reduce.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

TEST_CASE("pooling a sheet of padding only gives zeros and gradient 0") {
  const Tensor x = random({2, 3, 4}, 1), mask = tensor({{0, 0, 0}, {1, 0, 1}}, i32);
  for (const auto pool : {static_cast<Tensor (*)(const Located&, const Located&)>(mean_pool),
                          static_cast<Tensor (*)(const Located&, const Located&)>(max_pool)}) {
    CHECK(all_zero(pool(x, mask)[0]));
    CHECK_FALSE(all_zero(pool(x, mask)[1]));
    const Tensor gradient = gradient_at([&](const Tensor& t) { return sum(pool(t, mask)); }, x);
    CHECK(all_zero(gradient[0]));
    CHECK(all_zero(gradient[1][1]));
    CHECK(sum(gradient[1]).item() == Approx(4));
    CHECK(same_numbers(pool(x, mask.to(f64)), pool(x, mask)));  // a float mask does as well
  }
}

TEST_CASE("pooling an empty batch or no rows at all gives zeros") {
  CHECK(mean_pool(zeros({0, 3, 4})).shape() == Shape{0, 4});
  CHECK(mean_pool(zeros({0, 3, 4}), zeros({0, 3}, i32)).shape() == Shape{0, 4});
  CHECK(max_pool(zeros({0, 3, 4}), zeros({0, 3}, i32)).shape() == Shape{0, 4});
  CHECK(all_zero(mean_pool(zeros({2, 0, 4}))));
  CHECK(all_zero(max_pool(zeros({2, 0, 4}))));
}

TEST_CASE("what stands in masked rows has no influence on a pool") {
  Tensor x = tensor({{{1, 2}, {no_number, infinity}, {3, 0}}}, f64);
  const Tensor mask = tensor({{1, 0, 1}}, i32);
  CHECK(numbers(mean_pool(x, mask)) == Numbers{2, 1});
  CHECK(numbers(max_pool(x, mask)) == Numbers{3, 2});
  CHECK(numbers(gradient_at([&](const Tensor& t) { return sum(max_pool(t, mask)); }, x)) ==
        Numbers{0, 1, 0, 0, 1, 0});
  CHECK(numbers(gradient_at([&](const Tensor& t) { return sum(mean_pool(t, mask)); }, x)) ==
        Numbers{.5, .5, 0, 0, .5, .5});
}

TEST_CASE("ties of max pooling share the gradient") {
  const Tensor x = ones({1, 4, 1}, f64);
  CHECK(numbers(gradient_at([](const Tensor& t) { return max_pool(t); }, x)) == Numbers(4, 0.25));
}

TEST_CASE("pools say what does not fit") {
  CHECK_THROWS_WITH(mean_pool(zeros({2, 3})),
                    Says("[mean_pool] needs (batch, length, width); the tensor has shape (2, 3)"));
  CHECK_THROWS_WITH(max_pool(zeros({2, 3, 4}), zeros({2, 4}, i32)),
                    Says("[max_pool] the mask must be (batch, length) = (2, 3); it has shape (2, 4)"));
}

TEST_CASE("dropout of rate 1 gives zeros, of rate 0 the input itself") {
  const Tensor x = tensor({1, infinity, no_number, -2}, f64);
  CHECK(all_zero(dropout(x, 1, 7)));
  CHECK(same_numbers(dropout(x, 0, 7), x));
  const Tensor y = random({100}, 1);
  CHECK(all_zero(gradient_at([](const Tensor& t) { return sum(dropout(t, 1, 7)); }, y)));
  CHECK(
      same_numbers(gradient_at([](const Tensor& t) { return sum(dropout(t, 0, 7)); }, y), ones({100}, f64)));
}

TEST_CASE("dropout drops its rate and scales what it keeps") {
  const Tensor x = ones({100000}, f64);
  for (const double rate : {0.1, 0.5, 0.9}) {
    const Tensor y = dropout(x, rate, 3);
    double kept = 0;
    for (const double v : numbers(y)) {
      if (v != 0) CHECK_FALSE(v != 1 / (1 - rate));
      kept += v != 0;
    }
    CHECK(kept / 100000 == Approx(1 - rate).margin(0.006));
    const Tensor gradient = gradient_at([&](const Tensor& t) { return sum(dropout(t, rate, 3)); }, x);
    CHECK(same_numbers(gradient, y));  // the mask of the gradient is the mask of the value
  }
  CHECK_FALSE(same_numbers(dropout(x, 0.5, 1), dropout(x, 0.5, 2 + 1000000)));
  CHECK(same_numbers(dropout(x, 0.5, 3).to(f32), dropout(x.to(f32), 0.5, 3)));
  CHECK_THROWS_WITH(dropout(x, 1.5, 1), Says("[dropout] the rate is 1.5; need 0 to 1"));
  CHECK_THROWS_WITH(dropout(x, no_number, 1), Says("the rate is nan"));
}
