#include "autograd/ops/elementwise.hpp"

#include "autograd/ops/compare.hpp"
#include "autograd/ops/reduce.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

TEST_CASE("softplus and log-sigmoid stay finite far out, with gradient 1") {
  for (const DType dtype : {f32, f64}) {
    CHECK(softplus(tensor(100, dtype)).item() == 100);
    CHECK((softplus(tensor(20, dtype) * 5) / 5).item() == 20);
    CHECK(log_sigmoid(tensor(-300, dtype)).item() == -300);
    CHECK(gradient_at(softplus, tensor(100, dtype)).item() == 1);
    CHECK(gradient_at([](const Tensor& x) { return softplus(x * 5) / 5; }, tensor(20, dtype)).item() == 1);
    CHECK(gradient_at(log_sigmoid, tensor(-300, dtype)).item() == 1);
    CHECK(softplus(tensor(-1000, dtype)).item() == 0);
    CHECK(gradient_at(softplus, tensor(-1000, dtype)).item() == 0);
  }
}

TEST_CASE("the plain square root of 0 has no finite gradient, the safe one has 0") {
  const auto root = [](const Tensor& x) { return sqrt(square(x - 1)); };
  const auto safe = [](const Tensor& x) { return safe_sqrt(square(x - 1)); };
  CHECK(std::isnan(gradient_at(root, tensor(1, f64)).item()));
  CHECK(gradient_at(safe, tensor(1, f64)).item() == 0);
  CHECK(gradient_at(safe, tensor(3, f64)).item() == 1);
  CHECK(gradient_at(safe_log, tensor(0, f64)).item() == 0);
  CHECK(safe_log(tensor(-1, f64)).item() == 0);
}

TEST_CASE("powers at base 0 have no NaN") {
  const Tensor x = tensor({0, 1}, f64);
  CHECK(numbers(pow(x, 0)) == Numbers{1, 1});
  CHECK(numbers(gradient_at([](const Tensor& t) { return sum(pow(t, 0)); }, x)) == Numbers{0, 0});
  CHECK(gradient_at([](const Tensor& b) { return pow(tensor(0, f64), b); }, tensor(1, f64)).item() == 0);
  CHECK(gradient_at([](const Tensor& a) { return pow(a, 2); }, tensor(-3, f64)).item() == Approx(-6));
  CHECK(gradient_at([](const Tensor& a) { return pow(a, 3); }, tensor(0, f64)).item() == 0);
  CHECK(pow(tensor(-2, f64), 3).item() == -8);
}

TEST_CASE("ties of maximum share one gradient") {
  const Tensor a = tensor({2, 5}, f64);
  CHECK(numbers(gradient_at([](const Tensor& x) { return sum(maximum(x, x)); }, a)) == Numbers{1, 1});
  const auto both = gradients_at([](const std::vector<Tensor>& in) { return sum(maximum(in[0], in[1])); },
                                 {a, tensor({2, 1}, f64)});
  CHECK(numbers(both[0]) == Numbers{0.5, 1});
  CHECK(numbers(both[1]) == Numbers{0.5, 0});
  const auto least = gradients_at([](const std::vector<Tensor>& in) { return sum(minimum(in[0], in[1])); },
                                  {a, tensor({2, 1}, f64)});
  CHECK(numbers(least[0]) == Numbers{0.5, 0});
  CHECK(numbers(least[1]) == Numbers{0.5, 1});
}

TEST_CASE("gradients have the shapes of the inputs, not of the broadcast") {
  const auto shapes = [](const Shape& a, const Shape& b) {
    const auto f = [](const std::vector<Tensor>& in) { return sum(in[0] * in[1]); };
    const auto gradients = gradients_at(f, {random(a, 1), random(b, 2)});
    CHECK(gradients[0].shape() == a);
    CHECK(gradients[1].shape() == b);
  };
  shapes({1}, {5, 4});
  shapes({4, 1}, {1, 4});
  shapes({}, {2, 3});
  const auto f = [](const std::vector<Tensor>& in) { return sum(in[0] + in[1]); };
  CHECK(numbers(gradients_at(f, {zeros({4, 1}, f64), zeros({1, 4}, f64)})[0]) == Numbers{4, 4, 4, 4});
  CHECK(gradients_at(f, {zeros({}, f64), zeros({2, 3}, f64)})[0].item() == 6);
}

TEST_CASE("kinks have the derivatives that are written down") {
  CHECK(gradient_at(relu, tensor(0, f64)).item() == 0);
  CHECK(gradient_at([](const Tensor& x) { return abs(x); }, tensor(0, f64)).item() == 0);
  const auto kept = [](const Tensor& x) { return clamp(x, -1, 1); };
  CHECK(numbers(gradient_at([&](const Tensor& x) { return sum(kept(x)); }, tensor({-2, -1, 0, 1, 2}, f64))) ==
        Numbers{0, 1, 1, 1, 0});
}

TEST_CASE("the branch that where does not take reaches no gradient") {
  const auto f = [](const Tensor& x) {
    const Tensor positive = greater(x, 0);
    const Tensor safe = where(positive, x, 1);
    return sum(where(positive, log(safe), 0));
  };
  CHECK(numbers(gradient_at(f, tensor({-1, 0, 2}, f64))) == Numbers{0, 0, 0.5});
  const auto gradients = gradients_at(
      [](const std::vector<Tensor>& in) {
        return sum(where(tensor({1, 0}, i32), in[0], in[1]));
      },
      {tensor({1, infinity}, f64), tensor({no_number, 2}, f64)}, ones({}, f64));
  CHECK(numbers(gradients[0]) == Numbers{1, 0});
  CHECK(numbers(gradients[1]) == Numbers{0, 1});
}

TEST_CASE("where broadcasts its condition and both branches") {
  const auto f = [](const std::vector<Tensor>& in) { return where(tensor({{1}, {0}}, i32), in[0], in[1]); };
  const auto gradients = gradients_at(f, {tensor({1, 2, 3}, f64), tensor(7, f64)}, ones({2, 3}, f64));
  CHECK(numbers(gradients[0]) == Numbers{1, 1, 1});
  CHECK(gradients[1].shape() == Shape{});
  CHECK(gradients[1].item() == 3);
}

TEST_CASE("comparisons know NaN and work on whole numbers") {
  CHECK(numbers(equal(tensor({1, no_number}, f64), tensor({1, no_number}, f64))) == Numbers{1, 0});
  CHECK(numbers(not_equal(tensor({1, no_number}, f64), 1)) == Numbers{0, 1});
  CHECK(numbers(less_equal(tensor({1, 2, 3}, i32), 2)) == Numbers{1, 1, 0});
  CHECK(numbers(greater(2, tensor({1, 2, 3}, i32))) == Numbers{1, 0, 0});
  CHECK(less(tensor({1, 2}, f64), 2).dtype() == i32);
  CHECK(greater_equal(zeros({2, 1}), zeros({3})).shape() == Shape{2, 3});
}

TEST_CASE("a number beside whole ones that is none is refused by the op's name") {
  const Tensor whole = tensor({1, 2}, i32);
  CHECK_THROWS_WITH(
      equal(whole, 0.5),
      "[equal] 0.5 is no whole number that i32 holds, which the tensor of shape (2) is: cast it "
      "with .to(f32)");
  CHECK_THROWS_WITH(less(3e9, whole), Says("[less] 3000000000 is no whole number that i32 holds"));
  CHECK_THROWS_WITH(greater(whole, no_number), Says("[greater] nan is no whole number"));
  CHECK_THROWS_WITH(clamp(whole, 0.5, 1), Says("[clamp] 0.5 is no whole number"));
  CHECK_THROWS_WITH(whole * 0.5, Says("[mul] 0.5 is no whole number"));
  CHECK(numbers(equal(whole, -2147483648.)) == Numbers{0, 0});
}

TEST_CASE("dtypes that do not fit are refused by name") {
  const Tensor narrow = zeros({2}), wide = zeros({2}, f64), whole = zeros({2}, i32);
  CHECK_THROWS_WITH(narrow + wide, Says("[add] dtypes differ: f32 and f64"));
  CHECK_THROWS_WITH(whole * 2, Says("cast with .to(f32)"));
  CHECK_THROWS_WITH(where(narrow, narrow, narrow), Says("[where] the condition must be i32"));
  CHECK_THROWS_WITH(where(whole, narrow, wide), Says("[where] dtypes differ"));
  CHECK_THROWS_WITH(masked_fill(narrow, narrow, 0), Says("[masked_fill] the mask must be i32"));
  CHECK_THROWS_WITH(masked_fill(narrow, zeros({3, 2}, i32), 0),
                    Says("the mask (3, 2) does not broadcast to the tensor (2)"));
  CHECK_THROWS_WITH(zeros({2, 3}) + zeros({2, 4}), Says("[add] shapes do not broadcast: (2, 3) and (2, 4)"));
  CHECK_THROWS_WITH(equal(narrow, wide), Says("[equal] dtypes differ"));
  CHECK((narrow * 2.5).dtype() == f32);
  CHECK((1 / wide).dtype() == f64);
}
