// Every function of Scalars against closed forms, at ordinary arguments and at the ends, and random
// trees against dual numbers in long double.

#include <functional>
#include <random>

#include "autograd/scalar.hpp"
#include "tests/autograd/long_dual.hpp"
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

// clang-format off
#define CASE(f, slope, ...)                                 \
  Case { #f, [](const Scalar& x) { return Scalar(f(x)); },  \
         [](double x) { return std::f(x); },                \
         [](double x) -> double { return slope; }, __VA_ARGS__ }
// clang-format on

// A random tree of all functions, the same for every number type. Arguments are kept where functions are
// defined and numbers from running away.
template <class T>
class Trees {
 public:
  Trees(std::uint64_t seed, std::vector<T> leaves) : random_(seed), leaves_(std::move(leaves)) {}

  T tree(int depth) {
    if (depth == 0 || pick(8) == 0) return pick(6) == 0 ? T(0.25 + 0.5 * pick(5)) : leaf();
    const T a = tree(depth - 1), b = tree(depth - 1), c = leaf(), small = tanh(a) * 0.9;
    switch (pick(28)) {
      // clang-format off
      case 0: return a + b * c;
      case 1: return a * 0.5 - b;
      case 2: return small * b;
      case 3: return a / (1.5 + b * b);
      case 4: return 2.0 / (1.0 + c * c) - a;
      case 5: return -a + 3.0 * (b - c);
      case 6: return exp(small) + b;
      case 7: return expm1(small * c * 0.1);
      case 8: return log(1.5 + a * a) - b;
      case 9: return log1p(a * a);
      case 10: return sqrt(1.0 + a * a) * 0.5;
      case 11: return sin(a) * cos(b);
      case 12: return tan(small);
      case 13: return asin(small) + b;
      case 14: return acos(small) * c;
      case 15: return atan(a + b);
      case 16: return sinh(small) - cosh(small * c * 0.3);
      case 17: return tanh(a) * tanh(b) * tanh(c);
      case 18: return erf(a - c);
      case 19: return abs(a - 0.37);
      case 20: return pow(1.2 + small, b * 0.1);
      case 21: return pow(1.5 + a * a, 0.5) + c;
      case 22: return hypot(a, b + 0.1);
      case 23: return max(a, b) + min(b, c) * 0.5;
      case 24: return T(select(a < b, a * c, b - 1.0));
      case 25: return sum(std::vector<T>{a, b, c, a}) - mean(std::vector<T>{b, c});
      case 26: return dot(std::vector<T>{small, c}, std::vector<T>{c, small});
      default: return log_sum_exp(std::vector<T>{small, c, tanh(b)});
        // clang-format on
    }
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  const T& leaf() { return leaves_[static_cast<std::size_t>(pick(static_cast<int>(leaves_.size())))]; }

  std::mt19937_64 random_;
  std::vector<T> leaves_;
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

TEST_CASE("functions of two numbers have the library's values and their closed derivatives") {
  struct Pair {
    double a, b;
  };
  const std::vector<Pair> all{
      {2, 3},        {0.5, -1.5},      {-2, 3},        {-2, 0.5},      {1e-300, 1e-300}, {least, 2},
      {0, 2},        {0, 0.5},         {0, -1},        {3, 0},         {infinity, 2},    {infinity, -1},
      {2, infinity}, {0.5, -infinity}, {no_number, 1}, {1, no_number}, {-0.0, 1},        {1e308, 1e308}};
  const auto check = [&](const char* name, auto f, auto value, auto by_a, auto by_b) {
    for (const auto& [a, b] : all) {
      CAPTURE(name, a, b);
      Tape tape;
      const std::vector<Scalar> x = scalars({a, b});
      const Scalar y = f(x[0], x[1]);
      same(y.value(), value(a, b));
      tape.backward(y);
      same(x[0].grad(), by_a(a, b));
      same(x[1].grad(), by_b(a, b));
      same(Scalar(f(x[0], b)).value(), value(a, b));
      same(Scalar(f(a, x[1])).value(), value(a, b));
      same(tape.gradient(Scalar(f(a, x[1])), x)[1], by_b(a, b));
    }
  };
#define BINARY(expression, slope_a, slope_b)                                                  \
  check(                                                                                      \
      #expression, [](const auto& a, const auto& b) { return expression; },                   \
      [](double a, double b) -> double {                                                      \
        using namespace std;                                                                  \
        return expression;                                                                    \
      },                                                                                      \
      []([[maybe_unused]] double a, [[maybe_unused]] double b) -> double { return slope_a; }, \
      []([[maybe_unused]] double a, [[maybe_unused]] double b) -> double { return slope_b; })
  BINARY(a + b, 1, 1);
  BINARY(a - b, 1, -1);
  BINARY(a * b, b, a);
  BINARY(a / b, 1 / b, -a / b / b);
  BINARY(pow(a, b), b == 0 ? 0 : b * std::pow(a, b - 1), a == 0 && b >= 0 ? 0 : std::pow(a, b) * std::log(a));
  BINARY(hypot(a, b), a / std::hypot(a, b), b / std::hypot(a, b));
#undef BINARY
  const auto half_at_ties = [](double a, double b) { return a == b ? 0.5 : a > b ? 1 : 0; };
  for (const auto& [a, b] : all) {
    CAPTURE(a, b);
    if (std::isnan(a) || std::isnan(b)) continue;  // the next test
    Tape tape;
    const std::vector<Scalar> x = scalars({a, b});
    const Scalar high = max(x[0], x[1]), low = min(x[0], x[1]);
    CHECK(high.value() == std::max(a, b));
    CHECK(low.value() == std::min(a, b));
    CHECK(tape.gradient(high, x) == Numbers{half_at_ties(a, b), half_at_ties(b, a)});
    CHECK(tape.gradient(low, x) == Numbers{half_at_ties(b, a), half_at_ties(a, b)});
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

TEST_CASE("random trees of all functions against dual numbers in long double") {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    Numbers start(4);
    for (double& x : start) x = static_cast<double>(random() % 2000) / 700 - 1;
    Tape tape;
    const std::vector<Scalar> x = scalars(start);
    const Scalar y = Trees<Scalar>(seed, x).tree(6) + x[0];
    tape.backward(y);
    for (std::size_t towards = 0; towards < start.size(); ++towards) {
      std::vector<Dual> leaves(start.begin(), start.end());
      leaves[towards].d = 1;
      const Dual right = Trees<Dual>(seed, leaves).tree(6) + leaves[0];
      CHECK(y.value() == Approx(static_cast<double>(right.v)).epsilon(1e-11).margin(1e-11));
      CHECK(x[towards].grad() == Approx(static_cast<double>(right.d)).epsilon(1e-9).margin(1e-9));
    }
  }
}
