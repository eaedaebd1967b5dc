#include "autograd/ops/loss.hpp"

#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

Tensor loss_gradient(Tensor (*loss)(const Located&, const Located&), const Tensor& x, const Tensor& labels) {
  return gradient_at([&](const Tensor& t) { return loss(t, labels); }, x);
}

}  // namespace

TEST_CASE("a chance of exactly 1 in f32 against the label 0 is wrong by 15.9424, not by NaN") {
  const Tensor p = tensor({1}, f32), y = tensor({0}, i32);
  CHECK(binary_cross_entropy(p, y).item() == Approx(15.9424).epsilon(1e-6));
  CHECK(finite(loss_gradient(binary_cross_entropy, p, y)));
}

TEST_CASE("chances of 0 and 1 have finite losses and gradients, right or wrong") {
  for (const DType dtype : {f32, f64}) {
    const Tensor p = tensor({0, 1}, dtype);
    const Tensor right = tensor({0, 1}, i32), wrong = tensor({1, 0}, i32);
    CHECK(binary_cross_entropy(p, right).item() < 2e-7);
    CHECK(binary_cross_entropy(p, right).item() >= 0);
    CHECK(binary_cross_entropy(p, wrong).item() == Approx(dtype == f32 ? 16.0302 : 16.1181).epsilon(1e-4));
    CHECK(all_zero(loss_gradient(binary_cross_entropy, p, right)));  // clipped: no gradient
    CHECK(all_zero(loss_gradient(binary_cross_entropy, p, wrong)));
  }
}

TEST_CASE("a saturated logit keeps its gradient: chance minus label, over n") {
  const Tensor z = full({8}, -50, f32), y = ones({8}, i32);
  for (const double d : numbers(loss_gradient(binary_cross_entropy_with_logits, z, y))) CHECK(d == -0.125);
  CHECK(binary_cross_entropy_with_logits(z, y).item() == 50);
  const Tensor sure = tensor({100}, f64), one = ones({1}, i32);
  CHECK(binary_cross_entropy_with_logits(sure, one).item() == Approx(std::exp(-100.)));
  CHECK(numbers(loss_gradient(binary_cross_entropy_with_logits, sure, one))[0] == Approx(-std::exp(-100.)));
  const Tensor mixed = random({6}, 4) * 5, labels = tensor({0, 1, 1, 0, 0, 1}, i32);
  const Tensor expected = (sigmoid(mixed) - labels.to(f64)) / 6;
  CHECK(distance(loss_gradient(binary_cross_entropy_with_logits, mixed, labels), expected) < 1e-15);
}

TEST_CASE("a label that is no class is refused with its row and the allowed range") {
  const Tensor scores = zeros({3, 2});
  CHECK_THROWS_WITH(cross_entropy(scores, tensor({0, 255, 1}, i32)),
                    Says("[cross_entropy] the label of row 1 is 255; with 2 classes allowed are 0 to 1"));
  CHECK_THROWS_WITH(cross_entropy(scores, tensor({0, 1, -1}, i32)), Says("the label of row 2 is -1"));
  for (const auto loss : {binary_cross_entropy, binary_cross_entropy_with_logits}) {
    CHECK_THROWS_WITH(loss(full({2}, 0.5), tensor({1, 2}, i32)),
                      Says("the label of row 1 is 2; allowed are 0 and 1"));
    CHECK_THROWS_WITH(loss(full({2}, 0.5), tensor({0.5, 1})), Says("the label of row 0 is 0.5"));
    CHECK_THROWS_WITH(loss(full({2}, 0.5), tensor({1, no_number})), Says("the label of row 1 is nan"));
  }
}

TEST_CASE("a logit given as a chance is refused") {
  CHECK_THROWS_WITH(binary_cross_entropy(tensor({0.5, 3}), tensor({1, 1}, i32)),
                    Says("the chance of row 1 is 3; allowed are 0 to 1 (for a logit there is "
                         "binary_cross_entropy_with_logits)"));
}

TEST_CASE("the loss of an empty batch is 0 with gradient 0") {
  const Tensor none = zeros({0}, f64), no_labels = zeros({0}, i32);
  for (const auto loss : {binary_cross_entropy, binary_cross_entropy_with_logits, mse}) {
    CHECK(loss(none, no_labels).item() == 0);
    CHECK(loss_gradient(loss, none, no_labels).shape() == Shape{0});
  }
  CHECK(cross_entropy(zeros({0, 3}), no_labels).item() == 0);
  CHECK(loss_gradient(cross_entropy, zeros({0, 3}), no_labels).shape() == Shape{0, 3});
}

TEST_CASE("predictions (N, 1) against labels (N) are squeezed, never broadcast") {
  const Tensor z = random({4, 1}, 1), y = tensor({1, 0, 0, 1}, i32);
  for (const auto loss : {binary_cross_entropy_with_logits, mse}) {
    CHECK(loss(z, y).item() == loss(reshape(z, {4}), y).item());
    CHECK(loss(reshape(z, {4}), reshape(y, {4, 1})).item() == loss(z, y).item());
    CHECK(loss_gradient(loss, z, y).shape() == Shape{4, 1});
    CHECK_THROWS_WITH(loss(z, tensor({{1, 0, 0, 1}}, i32)),
                      Says("predictions are (4, 1), labels (1, 4); they are not broadcast"));
    CHECK_THROWS_WITH(loss(z, tensor({1}, i32)), Says("predictions are (4, 1), labels (1)"));
  }
  CHECK_THROWS_WITH(cross_entropy(zeros({4, 3}), zeros({3}, i32)),
                    Says("needs scores (N, classes) and labels (N)"));
  CHECK_THROWS_WITH(cross_entropy(zeros({4, 3}), zeros({4})), Says("[cross_entropy] the labels must be i32"));
}

TEST_CASE("float labels do as well as whole ones") {
  const Tensor z = random({4}, 1, f32), y = tensor({1, 0, 0, 1}, i32);
  CHECK(binary_cross_entropy_with_logits(z, y.to(f32)).item() ==
        binary_cross_entropy_with_logits(z, y).item());
  CHECK_THROWS_WITH(binary_cross_entropy_with_logits(z, y.to(f64)),
                    Says("dtypes differ: f32 of shape (4) and f64"));
}

TEST_CASE("cross-entropy of large scores is exact") {
  const Tensor scores = tensor({{1000, 0}, {0, 1000}}, f32);
  CHECK(cross_entropy(scores, tensor({0, 1}, i32)).item() == 0);
  CHECK(cross_entropy(scores, tensor({1, 0}, i32)).item() == 1000);
}
