#include <cmath>

#include "optim/sgd.hpp"
#include "tests/catch.hpp"
#include "tests/optim/support.hpp"

using namespace pencil;
using namespace pencil::tests;
using optim::SGD;

TEST_CASE("sgd: PyTorch's weights after 20 steps, plain, with momentum, with Nesterov's look ahead") {
  const auto run = [](optim::SgdOptions options, optim::StepOptions step = {}) {
    const Tensor w = parameter_of({0.5, -1.25, 3.0});
    options.learning_rate = 0.01;
    SGD sgd({w}, options, step);
    for (int t = 1; t <= 20; ++t) {
      const std::vector<double> now = w.to_vector();
      give(w, {0.7 * now[0] - 0.3 * t, -1.1 * now[1] + 0.05 * t * t, 1e-8});
      sgd.step();
    }
    return w.to_vector();
  };
  const auto close = [](const std::vector<double>& got, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(got[i] - expected[i]) < 1e-12);
  };
  close(run({}), {1.037394419333852, -3.066788285164501, 2.999999998});
  close(run({.momentum = 0.9}), {2.8179387929682136, -10.235307161209247, 2.9999999879058095});
  close(run({.momentum = 0.9, .nesterov = true}),
        {3.0089200631300654, -11.885039900815016, 2.9999999871152285});
  // CosineAnnealingLR(T_max = 20, eta_min = 0.001)
  close(run({}, {.schedule = optim::cosine(20, 0.1)}),
        {0.7072981901930543, -1.8647014498287502, 2.999999998855001});
}

TEST_CASE("sgd: settings that make no sense are named") {
  const Tensor w = parameter_of({1});
  REQUIRE_THROWS_WITH(SGD({w}, {.momentum = 1}), Says("[sgd] the momentum is 1; need 0 <= momentum < 1"));
  REQUIRE_THROWS_WITH(SGD({w}, {.learning_rate = -0.5}), Says("[sgd] the learning rate is -0.5"));
}
