#include <cmath>

#include "optim/adam.hpp"
#include "tests/catch.hpp"
#include "tests/optim/support.hpp"

using namespace pencil;
using namespace pencil::tests;
using optim::Adam;
using optim::AdamForm;
using optim::AdamW;

namespace {

const std::vector<double> start{0.5, -1.25, 3.0};

/// Gradients that depend on the weights and the step, and one that is tiny.
std::vector<double> gradient_at(const std::vector<double>& w, int t) {
  return {0.7 * w[0] - 0.3 * t, -1.1 * w[1] + 0.05 * t * t, 1e-8};
}

std::vector<double> after_20_steps(optim::Optimizer& optimizer) {
  const Tensor w = optimizer.parameters()[0];
  for (int t = 1; t <= 20; ++t) {
    give(w, gradient_at(w.to_vector(), t));
    optimizer.step();
  }
  return w.to_vector();
}

void close(const std::vector<double>& got, const std::vector<double>& expected, double most) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    INFO("number " << i << ": " << got[i] << " against " << expected[i]);
    CHECK(std::abs(got[i] - expected[i]) <= most);
  }
}

/// Both forms as the documentation of AdamForm writes them, in doubles.
std::vector<double> by_formula(AdamForm form, double epsilon, double decay = 0) {
  const double rate = 0.01, b1 = 0.9, b2 = 0.999;
  std::vector<double> w = start, m(3), v(3);
  for (int t = 1; t <= 20; ++t) {
    const std::vector<double> g = gradient_at(w, t);
    const double c1 = 1 - std::pow(b1, t), c2 = 1 - std::pow(b2, t);
    for (std::size_t i = 0; i < 3; ++i) {
      m[i] = b1 * m[i] + (1 - b1) * g[i];
      v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i];
      w[i] -= rate * decay * w[i];
      w[i] -= form == AdamForm::keras ? rate * std::sqrt(c2) / c1 * m[i] / (std::sqrt(v[i]) + epsilon)
                                      : rate * (m[i] / c1) / (std::sqrt(v[i] / c2) + epsilon);
    }
  }
  return w;
}

}  // namespace

TEST_CASE("adam: the paper's form gives PyTorch's weights after 20 steps") {
  Adam a({parameter_of(start)}, {.learning_rate = 0.01, .epsilon = 1e-8, .form = AdamForm::paper});
  close(after_20_steps(a), {0.677200973977327, -1.459904809555158, 2.900000000000002}, 1e-12);
  Adam b({parameter_of(start)}, {.learning_rate = 0.01, .form = AdamForm::paper});
  close(after_20_steps(b), {0.6772009764237036, -1.459904803741366, 2.9818181818181806}, 1e-12);
  Adam c({parameter_of(start)},
         {.learning_rate = 0.05, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 1e-3, .form = AdamForm::paper});
  close(after_20_steps(c), {1.4881742202851025, -2.3651290804558456, 2.9999900000999986}, 1e-12);
}

TEST_CASE("adam: both forms follow their formulas") {
  for (const AdamForm form : {AdamForm::keras, AdamForm::paper}) {
    Adam adam({parameter_of(start)}, {.learning_rate = 0.01, .form = form});
    close(after_20_steps(adam), by_formula(form, 1e-7), 1e-12);
    Adam single({parameter_of(start, "w", f32)}, {.learning_rate = 0.01, .form = form});
    close(after_20_steps(single), by_formula(form, 1e-7), 1e-5);
  }
}

TEST_CASE("adam: where epsilon stands decides the step of a tiny gradient (BC-56)") {
  // g = 1e-8 at step 1: m = 1e-9, √v = √1e-3 · 1e-8 = 3.162e-10.
  const double root = std::sqrt(1e-3) * 1e-8;
  const auto moved = [](AdamForm form, double epsilon) {
    const Tensor w = parameter_of({0});
    Adam adam({w}, {.epsilon = epsilon, .form = form});
    give(w, {1e-8});
    adam.step();
    return -w.item();
  };
  for (const double epsilon : {1e-7, 1e-8}) {
    CHECK(moved(AdamForm::keras, epsilon) ==
          Approx(1e-3 * std::sqrt(1 - 0.999) / (1 - 0.9) * 1e-9 / (root + epsilon)).epsilon(1e-12));
    CHECK(moved(AdamForm::paper, epsilon) == Approx(1e-3 * 1e-8 / (1e-8 + epsilon)).epsilon(1e-12));
  }
  CHECK(moved(AdamForm::paper, 1e-7) / moved(AdamForm::keras, 1e-7) > 20);
}

TEST_CASE("adam: rows whose gradient is 0 go on moving by their moments, as in Keras and PyTorch (BC-55)") {
  const Tensor w = parameter_of({1, 1});
  Adam adam({w});
  give(w, {0.5, 0});
  adam.step();
  double last = 1, step = 1;
  for (int t = 0; t < 5; ++t) {
    give(w, {0, 0});
    adam.step();
    const double now = w.to_vector()[0];
    CHECK(now < last);
    if (t > 0) CHECK(last - now < step);
    step = last - now;
    last = now;
  }
  CHECK(w.to_vector()[1] == 1);  // never had a gradient other than 0
}

TEST_CASE("adamw: PyTorch's weights after 20 steps") {
  AdamW adamw({parameter_of(start)},
              {.learning_rate = 0.01, .weight_decay = 0.1, .epsilon = 1e-8, .form = AdamForm::paper});
  close(after_20_steps(adamw), {0.6659402992183863, -1.43321306523158, 2.8415109186362795}, 1e-12);
  AdamW keras({parameter_of(start)}, {.learning_rate = 0.01, .weight_decay = 0.1});
  close(after_20_steps(keras), by_formula(AdamForm::keras, 1e-7, 0.1), 1e-12);
}

TEST_CASE("adamw: decay shrinks the weight, outside of the moments (BC-58)") {
  const Tensor w = parameter_of({1, -1});
  AdamW adamw({w}, {.learning_rate = 0.1, .weight_decay = 0.1});
  give(w, {0, 0});
  adamw.step();
  CHECK(w.to_vector()[0] == Approx(0.99).epsilon(1e-15));
  CHECK(w.to_vector()[1] == Approx(-0.99).epsilon(1e-15));
  CHECK(adamw.state().at(2).first == "first_moment.w");
  CHECK(adamw.state().at(2).second.to_vector() == std::vector<double>{0, 0});
}

TEST_CASE("adam: settings that make no sense are named") {
  const Tensor w = parameter_of({1});
  REQUIRE_THROWS_WITH(Adam({w}, {.learning_rate = -1}),
                      Says("[adam] the learning rate is -1; need a finite number from 0"));
  REQUIRE_THROWS_WITH(Adam({w}, {.learning_rate = NAN}), Says("the learning rate is nan"));
  REQUIRE_THROWS_WITH(Adam({w}, {.beta1 = 1}),
                      Says("[adam] beta1 is 1 and beta2 is 0.999; need 0 <= beta < 1"));
  REQUIRE_THROWS_WITH(Adam({w}, {.beta2 = -0.1}), Says("beta2 is -0.1"));
  REQUIRE_THROWS_WITH(Adam({w}, {.epsilon = 0}), Says("[adam] epsilon is 0; need a finite number above 0"));
  REQUIRE_THROWS_WITH(AdamW({w}, {.weight_decay = -1}), Says("[adamw] the weight decay is -1"));
  REQUIRE_THROWS_WITH(Adam({w}, {}, {.clip_norm = -1}),
                      Says("[adam] clip_norm is -1; need a number above 0, or 0"));
  REQUIRE_THROWS_WITH(Adam({w, zeros({2})}),
                      Says("[adam] tensor 1 of those to be optimized is no parameter"));
  REQUIRE_THROWS_WITH(Adam({Tensor()}), Says("tensor 0 of those to be optimized is no parameter"));
  REQUIRE_THROWS_WITH(Adam({w, w}), Says("[adam] parameter 'w' is given twice"));
  Adam adam({w});
  REQUIRE_THROWS_WITH(adam.set_learning_rate(INFINITY), Says("the learning rate is inf"));
  CHECK(adam.options().learning_rate == 1e-3);
}
