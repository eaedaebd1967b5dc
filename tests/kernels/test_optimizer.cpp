#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "autograd/kernels/optimizer.hpp"
#include "autograd/kernels/threads.hpp"
#include "autograd/random.hpp"
#include "tests/catch.hpp"

using namespace pencil;
using namespace pencil::kernels;

namespace {

/// Adam as its authors wrote it, a number at a time.
struct AdamTwin {
  double w, m = 0, v = 0;

  double step(const AdamSettings& s, std::int64_t t, double gradient) {
    const double g = s.gradient_scale * gradient + s.l2 * w;
    m = s.beta1 * m + (1 - s.beta1) * g;
    v = s.beta2 * v + (1 - s.beta2) * g * g;
    const double correction1 = 1 - std::pow(s.beta1, double(t)),
                 correction2 = 1 - std::pow(s.beta2, double(t));
    const double before = w;
    w -= s.learning_rate * s.weight_decay * w;
    if (s.form == AdamForm::hat)
      w -= s.learning_rate * std::sqrt(correction2) / correction1 * m / (std::sqrt(v) + s.epsilon);
    else
      w -= s.learning_rate * (m / correction1) / (std::sqrt(v / correction2) + s.epsilon);
    return (w - before) * (w - before);
  }
};

template <class T>
void check_adam(const AdamSettings& settings, double allowed) {
  Rng rng{3};
  for (std::int64_t n = 1; n <= 67; ++n) {
    const auto count = static_cast<std::size_t>(n);
    std::vector<T> w(count + 1), g(count + 1), m(count + 1), v(count + 1);
    std::vector<AdamTwin> twins(count);
    for (std::size_t i = 0; i < count; ++i) {
      w[i] = static_cast<T>(rng.uniform() - 0.5);
      twins[i].w = w[i];
    }
    w[count] = m[count] = v[count] = 7;
    for (std::int64_t t = 1; t <= 20; ++t) {
      double squares = 0;
      for (std::size_t i = 0; i < count; ++i) {
        g[i] = static_cast<T>(rng.uniform() - 0.5);
        squares += twins[i].step(settings, t, g[i]);
      }
      const double got = adam<T>(n, settings, t, w.data(), g.data(), m.data(), v.data());
      CHECK(got == Approx(squares).epsilon(std::sqrt(allowed)));
    }
    for (std::size_t i = 0; i < count; ++i) CHECK(std::abs(w[i] - twins[i].w) <= allowed);
    CHECK((w[count] == 7 && m[count] == 7 && v[count] == 7));
  }
}

}  // namespace

TEST_CASE("Adam: both forms agree with the papers' arithmetic at every length") {
  for (const AdamForm form : {AdamForm::hat, AdamForm::paper}) {
    check_adam<double>({.epsilon = 1e-7, .form = form}, 1e-13);
    check_adam<float>({.epsilon = 1e-7, .form = form}, 2e-6);
    check_adam<double>({.learning_rate = 0.1, .form = form, .weight_decay = 0.1}, 1e-12);
    check_adam<double>({.form = form, .l2 = 0.1, .gradient_scale = 0.25}, 1e-13);
  }
}

TEST_CASE("Adam: a tiny gradient shows where epsilon stands") {
  // g = 1e-8, step 1: m = 1e-9, v = 1e-19, so that m̂ = g and √v̂ = |g|.
  const auto change = [](AdamForm form, double epsilon) {
    double w = 0, m = 0, v = 0;
    const double g = 1e-8;
    adam<double>(1, {.learning_rate = 1, .epsilon = epsilon, .form = form}, 1, &w, &g, &m, &v);
    return -w;
  };
  CHECK(change(AdamForm::paper, 1e-8) == Approx(0.5));
  CHECK(change(AdamForm::paper, 1e-7) == Approx(1.0 / 11));
  const double root = std::sqrt(0.001);
  CHECK(change(AdamForm::hat, 1e-8) == Approx(root * 1e-8 / (root * 1e-8 + 1e-8)));
  CHECK(change(AdamForm::hat, 1e-7) == Approx(root * 1e-8 / (root * 1e-8 + 1e-7)));
}

TEST_CASE("AdamW decays the weight itself: 1 with gradient 0 becomes 0.99") {
  double w = 1, m = 0, v = 0;
  const double g = 0;
  adam<double>(1, {.learning_rate = 0.1, .weight_decay = 0.1}, 1, &w, &g, &m, &v);
  CHECK(w == Approx(0.99).epsilon(1e-15));
}

TEST_CASE("Adam moves a number on by its momentum when the gradient is 0") {
  double w = 1, m = 0, v = 0, g = 1;
  adam<double>(1, {}, 1, &w, &g, &m, &v);
  g = 0;
  for (std::int64_t t = 2; t <= 6; ++t) {
    const double before = w;
    CHECK(adam<double>(1, {}, t, &w, &g, &m, &v) > 0);
    CHECK(w < before);
  }
}

TEST_CASE("Gradient descent with and without momentum") {
  Rng rng{5};
  for (const bool nesterov : {false, true})
    for (std::int64_t n = 1; n <= 67; ++n) {
      const auto count = static_cast<std::size_t>(n);
      std::vector<double> w(count), b(count), twin(count), velocity(count), g(count);
      const MomentumSettings settings{.learning_rate = 0.1,
                                      .momentum = 0.9,
                                      .nesterov = nesterov,
                                      .weight_decay = 0.01,
                                      .l2 = 0.02,
                                      .gradient_scale = 0.5};
      for (int t = 0; t < 3; ++t) {
        double squares = 0;
        for (std::size_t i = 0; i < count; ++i) {
          g[i] = rng.uniform() - 0.5;
          const double gradient = 0.5 * g[i] + 0.02 * twin[i], before = twin[i];
          velocity[i] = 0.9 * velocity[i] + gradient;
          twin[i] -= 0.1 * 0.01 * twin[i] + 0.1 * (nesterov ? gradient + 0.9 * velocity[i] : velocity[i]);
          squares += (twin[i] - before) * (twin[i] - before);
        }
        CHECK(momentum_step<double>(n, settings, w.data(), g.data(), b.data()) == Approx(squares));
        for (std::size_t i = 0; i < count; ++i) CHECK(std::abs(w[i] - twin[i]) < 1e-14);
      }
    }
  float w = 1, g = 2;
  CHECK(momentum_step<float>(1, {.learning_rate = 0.25}, &w, &g, nullptr) == Approx(0.25));
  CHECK(w == 0.5f);
}

TEST_CASE("A number that is not finite is found wherever it stands") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t n : {1, 2, 15, 16, 17, 67, 16384, 16385, 40000}) {
    std::vector<float> x(static_cast<std::size_t>(n), std::numeric_limits<float>::max());
    std::vector<double> y(static_cast<std::size_t>(n), std::numeric_limits<double>::max());
    CHECK(all_finite(n, x.data()));
    CHECK(first_not_finite(n, y.data()) == -1);
    for (const std::int64_t at : {std::int64_t{0}, n / 2, n - 1})
      for (const double bad : {infinity, -infinity, nan}) {
        const auto i = static_cast<std::size_t>(at);
        x[i] = static_cast<float>(bad);
        y[i] = bad;
        CHECK_FALSE(all_finite(n, x.data()));
        CHECK_FALSE(all_finite(n, y.data()));
        CHECK(first_not_finite(n, x.data()) == at);
        CHECK(first_not_finite(n, y.data()) == at);
        x[i] = 0;
        y[i] = 0;
      }
  }
  CHECK(all_finite<float>(0, nullptr));
}

TEST_CASE("Sums of squares and a·x + y") {
  for (std::int64_t n = 0; n <= 67; ++n) {
    std::vector<float> x(static_cast<std::size_t>(n)), y(x.size());
    double squares = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>(i) + 0.5f;
      y[i] = 1;
      squares += double(x[i]) * double(x[i]);
    }
    CHECK(sum_of_squares(n, x.data()) == Approx(squares).epsilon(1e-14));
    axpy(n, 2.0f, x.data(), y.data());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == 1 + 2 * x[i]);
  }
  const std::vector<float> huge(100, 1e30f);  // its squares overflow in float
  CHECK(sum_of_squares(100, huge.data()) == Approx(1e62).epsilon(1e-6));
}

TEST_CASE("Updates and sums have the same bits for any number of threads", "[threads]") {
  const std::int64_t n = 100'003;
  const int before = threads();
  std::vector<std::vector<float>> results;
  std::vector<double> sums;
  for (const int team : {1, 2, 3}) {
    set_threads(team);
    Rng rng{11};
    std::vector<float> w(n), g(n), m(n), v(n);
    for (float& x : g) x = static_cast<float>(rng.uniform() - 0.5);
    const double changed = adam<float>(n, {}, 1, w.data(), g.data(), m.data(), v.data());
    const double squares = sum_of_squares(n, g.data());
    axpy(n, 0.1f, g.data(), w.data());
    results.push_back(w);
    sums.push_back(changed);
    sums.push_back(squares);
  }
  set_threads(before);
  CHECK((results[0] == results[1] && results[0] == results[2]));
  CHECK((sums[0] == sums[2] && sums[0] == sums[4] && sums[1] == sums[3] && sums[1] == sums[5]));
}
