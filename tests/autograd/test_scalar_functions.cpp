// Every function of Scalars against closed forms, at ordinary arguments and at the ends, and random
// expressions against dual numbers in long double.

#include <functional>
#include <random>

#include "autograd/scalar.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

constexpr double least = std::numeric_limits<double>::denorm_min();
const double sqrt_pi = std::sqrt(std::acos(-1.0));

double slope_at(const std::function<Scalar(const Scalar&)>& f, double x) {
  Tape tape;
  const std::vector<Scalar> leaf = scalars({x});
  const Scalar y = f(leaf[0]);
  tape.backward(y);
  return leaf[0].grad();
}

void same(double found, double right) {
  if (std::isnan(right))
    CHECK(std::isnan(found));
  else if (!std::isfinite(right) || right == 0)
    CHECK(found == right);
  else
    CHECK(found == Approx(right).epsilon(1e-14).margin(1e-300));
}

struct Case {
  const char* name;
  std::function<Scalar(const Scalar&)> f;
  std::function<double(double)> value, slope;
  Numbers at;
};

#define CASE(f, slope, ...)                                                                                       \
  Case {                                                                                                          \
#f, [](const Scalar&                                                                                          \
               x) { return Scalar(f(x)); },                                                                       \
                                         [](double                                                                \
                                                x) { return std::f(x); },                                         \
                                                                       [](double x)                               \
                                                                            -> double { return slope; },          \
                                                                                                      __VA_ARGS__ \
  }

// A number with its derivative.
struct Dual {
  long double v = 0, d = 0;
};

}  // namespace

TEST_CASE("functions of one number have the values of the library's and their closed derivatives") {
  const Numbers all{0.3, -1.7, 2.5, 0, least, -least, 1e-300, 30, -30, infinity, -infinity, no_number};
  const Numbers positive{0.3, 2.5, least, 1e300, 0, infinity, no_number};
  const Numbers inside{0.3, -0.7, 0, least, 1, -1, no_number};
  const Case cases[] = {
      CASE(exp, std::exp(x), all),
      CASE(expm1, std::exp(x), all),
      CASE(log, 1 / x, positive),
      CASE(log1p, 1 / (1 + x), positive),
      CASE(sqrt, 0.5 / std::sqrt(x), positive),
      CASE(sin, std::cos(x), all),
      CASE(cos, -std::sin(x), all),
      CASE(tan, 1 + std::tan(x) * std::tan(x), all),
      CASE(asin, 1 / std::sqrt((1 - x) * (1 + x)), inside),
      CASE(acos, -1 / std::sqrt((1 - x) * (1 + x)), inside),
      CASE(atan, 1 / (1 + x * x), all),
      CASE(sinh, std::cosh(x), all),
      CASE(cosh, std::sinh(x), all),
      CASE(tanh, (1 - std::tanh(x)) * (1 + std::tanh(x)), all),
      CASE(erf, 2 / sqrt_pi * std::exp(-x * x), all),
      CASE(abs,
           std::isnan(x) ? x
           : x > 0       ? 1
           : x < 0       ? -1
                         : 0,
           {0.3, -1.7, 0, -0.0, least, infinity, -infinity}),
  };
  for (const Case& one : cases)
    for (const double x : one.at) {
      CAPTURE(one.name, x);
      Tape tape;
      same(one.f(scalars({x})[0]).value(), one.value(x));
      if (one.name == std::string("expm1") && std::abs(x) >= 30 && std::isfinite(x)) continue;  // e^x − 1 + 1
      same(slope_at(one.f, x), one.slope(x));
    }
}

TEST_CASE("kinks and ties are those of the tensors") {
  Tape tape;
  const std::vector<Scalar> x = scalars({2, 2, 0, 0, -1});
  const auto gradient = [&](const Scalar& y, std::size_t i) {
    return tape.gradient(y, std::span(x).subspan(i, 1))[0];
  };
  CHECK(gradient(max(x[0], x[1]), 0) == 0.5);
  CHECK(gradient(max(x[0], x[1]), 1) == 0.5);
  CHECK(gradient(min(x[0], 2.0), 0) == 0.5);
  CHECK(gradient(max(x[0], x[0]), 0) == 1);
  CHECK(gradient(hypot(x[2], x[3]), 2) == 0);
  CHECK(gradient(abs(x[2]), 2) == 0);
  const Scalar one = pow(x[2], x[3]);
  CHECK(one.value() == 1);
  CHECK(gradient(one, 2) == 0);
  CHECK(gradient(one, 3) == 0);
  CHECK(gradient(pow(x[2], 0), 2) == 0);
  CHECK(gradient(pow(x[4], 3), 4) == 3);
  CHECK(std::isnan(gradient(pow(x[4], x[0]), 0)));
  CHECK(std::isnan(Scalar(max(x[0], no_number)).value()));
  CHECK(std::isnan(Scalar(max(no_number, x[0])).value()));
  CHECK(std::isnan(Scalar(min(x[0] * no_number, x[1])).value()));
}

TEST_CASE("a gradient of 0 is passed on to nobody, whatever the slopes") {
  Tape tape;
  const std::vector<Scalar> x = scalars({0, 1});
  const Scalar root = sqrt(x[0]);  // its slope is infinite
  const Scalar y = root * 0 + x[1];
  tape.backward(y);
  CHECK(x[0].grad() == 0);
  CHECK(x[1].grad() == 1);
}

TEST_CASE("random chains of statements against dual numbers in long double") {
  std::mt19937_64 random(20261201);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    Tape tape;
    constexpr std::size_t leaves = 4;
    Numbers start(leaves);
    for (double& x : start) x = 0.2 + static_cast<double>(random() % 1000) / 700;
    const std::size_t towards = pick(leaves);
    const std::vector<Scalar> x = scalars(start);
    std::vector<Scalar> scalar(x);
    std::vector<Dual> dual;
    for (std::size_t i = 0; i < leaves; ++i) dual.push_back({start[i], i == towards ? 1.0L : 0.0L});
    for (int step = 0; step < 40; ++step) {
      const std::size_t i = pick(scalar.size()), j = pick(scalar.size()), k = pick(scalar.size());
      const Scalar a = scalar[i], b = scalar[j], c = scalar[k];
      const Dual u = dual[i], v = dual[j], w = dual[k];
      switch (pick(8)) {
        case 0:
          scalar.push_back(a * b + c * 0.5);
          dual.push_back({u.v * v.v + w.v / 2, u.d * v.v + u.v * v.d + w.d / 2});
          break;
        case 1:
          scalar.push_back(tanh(a - b * c));
          dual.push_back({std::tanh(u.v - v.v * w.v), 0});
          dual.back().d = (1 - dual.back().v * dual.back().v) * (u.d - v.d * w.v - v.v * w.d);
          break;
        case 2:
          scalar.push_back(sin(a) / (1.5 + c * c));
          dual.push_back({std::sin(u.v) / (1.5L + w.v * w.v), 0});
          dual.back().d = (std::cos(u.v) * u.d - dual.back().v * 2 * w.v * w.d) / (1.5L + w.v * w.v);
          break;
        case 3:
          scalar.push_back(exp(-(a * a)) - b);
          dual.push_back({std::exp(-u.v * u.v) - v.v, -2 * u.v * u.d * std::exp(-u.v * u.v) - v.d});
          break;
        case 4:
          scalar.push_back(log(1 + a * a) * 0.3);
          dual.push_back({std::log(1 + u.v * u.v) * 0.3L, 0.3L * 2 * u.v * u.d / (1 + u.v * u.v)});
          break;
        case 5: {
          Scalar total = tanh(a);
          total += tanh(b) * 0.5;
          total -= c * 0.25;
          scalar.push_back(total);
          const long double p = std::tanh(u.v), q = std::tanh(v.v);
          dual.push_back({p + q / 2 - w.v / 4, (1 - p * p) * u.d + (1 - q * q) * v.d / 2 - w.d / 4});
          break;
        }
        case 6:
          scalar.push_back(sqrt(1 + a * a) - 1);
          dual.push_back({std::sqrt(1 + u.v * u.v) - 1, u.v * u.d / std::sqrt(1 + u.v * u.v)});
          break;
        default:
          scalar.push_back(mean(std::vector<Scalar>{a, b, c, a}));
          dual.push_back({(2 * u.v + v.v + w.v) / 4, (2 * u.d + v.d + w.d) / 4});
      }
      // Keep numbers small, so that sums of products do not run away.
      if (std::abs(scalar.back().value()) > 10) {
        scalar.back() = tanh(scalar.back());
        const long double t = std::tanh(dual.back().v);
        dual.back() = {t, (1 - t * t) * dual.back().d};
      }
    }
    tape.backward(scalar.back());
    CHECK(scalar.back().value() == Approx(static_cast<double>(dual.back().v)).epsilon(1e-11).margin(1e-11));
    CHECK(x[towards].grad() == Approx(static_cast<double>(dual.back().d)).epsilon(1e-9).margin(1e-9));
  }
}
