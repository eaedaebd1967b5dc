// Jacobians, Hessians and their products with vectors, against known answers.

#include "autograd/ops/derivatives.hpp"

#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/formula.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/row_formula.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/softmax.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// (1 − a)² + 100 (b − a²)²
Tensor rosenbrock(const Tensor& x) {
  const Tensor a = x[0], b = x[1];
  return square(1 - a) + 100 * square(b - square(a));
}

}  // namespace

TEST_CASE("a jacobian is the shape of the result by the shape of the argument") {
  const Tensor x = tensor({1, 2, 3}, f64);
  CHECK(numbers(jacobian([](const Tensor& t) { return square(t); }, x)) ==
        Numbers{2, 0, 0, 0, 4, 0, 0, 0, 6});
  const Tensor a = random({2, 3}, 1);
  const Tensor j = jacobian([&](const Tensor& t) { return matmul(a, t); }, x);
  CHECK(j.shape() == Shape{2, 3});
  CHECK(distance(j, a) < 1e-15);
  CHECK(jacobian([](const Tensor& t) { return sum(t, 0); }, random({4, 2}, 1)).shape() == Shape{2, 4, 2});
  CHECK(numbers(jacobian([](const Tensor& t) { return sum(t); }, x)) == Numbers{1, 1, 1});
  CHECK(jacobian([](const Tensor& t) { return t * 2; }, tensor({1, 2}, f32)).dtype() == f32);
  CHECK(numbers(jacobian([](const Tensor& t) { return t; }, tensor({1, 2}, f64))) == Numbers{0, 0, 0, 0});
}

TEST_CASE("the jacobian of softmax is diag(y) − y yᵀ") {
  const Tensor x = random({4}, 3), y = softmax(x);
  const Numbers p = numbers(y), j = numbers(jacobian([](const Tensor&t) { return softmax(t); }, x));
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b)
      CHECK(j[4 * a + b] == Approx((a == b ? p[a] : 0) - p[a] * p[b]).margin(1e-15));
}

TEST_CASE("Hessians of known functions") {
  const double a = -0.7, b = 1.3;
  const Numbers h = numbers(hessian(rosenbrock, tensor({a, b}, f64)));
  CHECK(h[0] == Approx(2 - 400 * (b - a * a) + 800 * a * a));
  CHECK(h[1] == Approx(-400 * a));
  CHECK(h[2] == Approx(-400 * a));
  CHECK(h[3] == 200);

  // x A x with a matrix A that is not symmetric: A + Aᵀ
  const Tensor matrix = random({3, 3}, 2);
  const auto quadratic = [&](const Tensor& x) { return matmul(x, matmul(matrix, x)); };
  CHECK(distance(hessian(quadratic, random({3}, 1)), matrix + transpose(matrix)) < 1e-14);
  CHECK(all_zero(hessian([](const Tensor& x) { return sum(x * 3); }, random({3}, 1))));
  CHECK(all_zero(hessian([](const Tensor&) { return tensor(1, f64); }, random({3}, 1))));
  CHECK(hessian([](const Tensor& x) { return sum(exp(x)); }, random({2, 3}, 1)).shape() == Shape{2, 3, 2, 3});
}

TEST_CASE("the Hessian of log Σ eˣ, as an op, as a formula over rows and composed, is diag(p) − p pᵀ") {
  const auto own = reduction("own", [](auto x) { return log(sum(exp(x))); });
  const Tensor x = random({3}, 5);
  const Numbers p = numbers(softmax(x));
  const std::function<Tensor(const Tensor&)> all[] = {[](const Tensor& t) { return logsumexp(t, 0); },
                                                      [&](const Tensor& t) { return own(t); },
                                                      [](const Tensor& t) { return log(sum(exp(t))); }};
  for (const auto& f : all) {
    const Numbers h = numbers(hessian(f, x));
    for (std::size_t a = 0; a < 3; ++a)
      for (std::size_t b = 0; b < 3; ++b)
        CHECK(h[3 * a + b] == Approx((a == b ? p[a] : 0) - p[a] * p[b]).margin(1e-14));
  }
}

TEST_CASE("a Hessian-vector product is the Hessian times the vector") {
  const Tensor x = tensor({-0.7, 1.3}, f64), v = tensor({2, -1}, f64);
  const Tensor product = hessian_vector_product(rosenbrock, x, v);
  CHECK(distance(product, matmul(hessian(rosenbrock, x), v)) < 1e-12);

  const auto network = [](const Tensor& w) { return mean(square(tanh(matmul(random({5, 4}, 8), w)))); };
  const Tensor w = random({4, 3}, 9), direction = random({4, 3}, 10);
  const Tensor whole = reshape(hessian(network, w), {12, 12});
  const Tensor want = reshape(matmul(whole, reshape(direction, {12})), {4, 3});
  CHECK(distance(hessian_vector_product(network, w, direction), want) < 1e-13);
}

TEST_CASE("a Hessian-vector product over several parameters, where they are") {
  // y = Σ a²b: H = [2b 2a; 2a 0]
  const Tensor a = parameter(tensor({1, 2}, f64), "a"), b = parameter(tensor({3, 4}, f64), "b");
  const Tensor unused = parameter(tensor({5}, f64), "unused");
  const Tensor xs[]{a, b, unused}, vs[]{tensor({1, 0.5}, f64), tensor({10, 20}, f64), tensor({1}, f64)};
  const auto products = hessian_vector_product([&](Inputs) { return sum(square(a) * b); }, xs, vs);
  CHECK(numbers(products[0]) == Numbers{2 * 3 * 1 + 2 * 1 * 10, 2 * 4 * 0.5 + 2 * 2 * 20});
  CHECK(numbers(products[1]) == Numbers{2 * 1 * 1, 2 * 2 * 0.5});
  CHECK(numbers(products[2]) == Numbers{0});
  CHECK_FALSE(a.has_grad());
}

TEST_CASE("a gradient of a gradient of a gradient, where ops allow it") {
  const Tensor x = tensor({{0.3}}, f64);
  Tape tape;
  Tensor y = matmul(matmul(x, x), matmul(x, x));  // x⁴
  for (const double want : {4 * 0.027, 12 * 0.09, 24 * 0.3, 24.}) {
    y = tape.gradient(y, {x}, {.record = true})[0];
    CHECK(y.item() == Approx(want));
  }
}

TEST_CASE("derivatives leave a tape around them alone") {
  Tape tape;
  const Tensor x = exp(tensor({1, 2}, f64));
  const int before = tape.size();
  const Tensor h = hessian([](const Tensor& t) { return sum(t * t * t); }, x);
  CHECK(numbers(h)[0] == Approx(6 * std::exp(1)));
  CHECK(tape.size() == before);
}

TEST_CASE("derivatives say what they need") {
  CHECK_THROWS_WITH(hessian([](const Tensor& x) { return x * 2; }, random({3}, 1)),
                    Says("[hessian] the function gives shape (3); need one number"));
  CHECK_THROWS_WITH(jacobian([](const Tensor& x) { return x; }, tensor({1, 2}, i32)),
                    Says("[jacobian] x is i32"));
  CHECK_THROWS_WITH(
      hessian_vector_product(rosenbrock, random({2}, 1), random({3}, 1)),
      "[hessian_vector_product] vector 0 is (3) of f64, its tensor (2) of f64; they must agree");
  const auto cubic = elementwise("cubic", [](auto x) { return x * x * x; });
  const auto slope = [&](const Tensor& x) {  // is a first derivative itself
    return Tape::current()->gradient(sum(cubic(x)), {x}, {.record = true})[0];
  };
  CHECK_THROWS_WITH(hessian([&](const Tensor& x) { return sum(slope(x)); }, random({2}, 1)),
                    Says("third derivatives of a formula are not known"));
}
