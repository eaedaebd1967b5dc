// Derivatives at kinks, at ties and at the ends of the range, where closed forms alone do not decide.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "autograd/kernels/builtin.hpp"
#include "tests/catch.hpp"

using namespace pencil::kernels;
using namespace pencil::kernels::formulas;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

template <class F, class T = double, class... X>
T value(X... x) {
  const std::array<T, sizeof...(X)> numbers{static_cast<T>(x)...};
  const T* pointers[4] = {};
  for (std::size_t k = 0; k < numbers.size(); ++k) pointers[k] = &numbers[k];
  T y;
  builtin<F, T>().forward(flat_plan(1, sizeof...(X)), pointers, &y);
  return y;
}

/// dy · ∂f/∂xᵢ
template <class F, int i = 0, class T = double, class... X>
T slope_with(double dy, X... x) {
  const std::array<T, sizeof...(X)> numbers{static_cast<T>(x)...};
  const T* pointers[4] = {};
  for (std::size_t k = 0; k < numbers.size(); ++k) pointers[k] = &numbers[k];
  const T upstream = static_cast<T>(dy);
  T out;
  builtin<F, T>().partial(i, flat_plan(1, sizeof...(X)), &upstream, pointers, &out);
  return out;
}

template <class F, int i = 0, class T = double, class... X>
T slope(X... x) {
  return slope_with<F, i, T>(1, x...);
}

template <class F, int i, int j, class... X>
double curvature(X... x) {
  const std::array<double, sizeof...(X)> numbers{static_cast<double>(x)...};
  const double* pointers[4] = {};
  for (std::size_t k = 0; k < numbers.size(); ++k) pointers[k] = &numbers[k];
  const double one = 1;
  double out;
  builtin<F, double>().second(i, j, flat_plan(1, sizeof...(X)), &one, &one, pointers, &out);
  return out;
}

}  // namespace

TEST_CASE("Kinks: relu′(0) = abs′(0) = 0, clamp passes at its bounds") {
  CHECK(slope<Relu>(0) == 0);
  CHECK(slope<Relu>(-0.0) == 0);
  CHECK(slope<Relu>(1e-300) == 1);
  CHECK(slope<Abs>(0) == 0);
  CHECK(slope<Abs>(-0.0) == 0);
  CHECK(slope<Clamp>(1, 1, 2) == 1);
  CHECK(slope<Clamp>(2, 1, 2) == 1);
  CHECK(slope<Clamp>(0.99, 1, 2) == 0);
  CHECK(slope<Clamp, 1>(0, 1, 2) == 0);
  CHECK(slope<Clamp, 2>(3, 1, 2) == 0);
}

TEST_CASE("Ties of maximum and minimum share equally") {
  CHECK(slope<Maximum, 0>(3, 3) == 0.5);
  CHECK(slope<Maximum, 1>(3, 3) == 0.5);
  CHECK(slope<Minimum, 0>(3, 3) == 0.5);
  CHECK(slope<Minimum, 1>(3, 3) == 0.5);
  CHECK(slope<Maximum, 0>(3, 2) == 1);
  CHECK(slope<Maximum, 1>(3, 2) == 0);
}

TEST_CASE("What is not finite passes relu, clamp, maximum and abs") {
  CHECK(std::isnan(value<Relu>(nan_value)));
  CHECK(std::isnan(value<Clamp>(nan_value, 0, 1)));
  CHECK(std::isnan(value<Maximum>(nan_value, 1)));
  CHECK(std::isnan(value<Maximum>(1, nan_value)));
  CHECK(std::isnan(value<Minimum>(nan_value, 1)));
  CHECK(std::isnan(value<Minimum>(1, nan_value)));
  CHECK(value<Relu>(infinity) == infinity);
  CHECK(value<Relu>(-infinity) == 0);
  CHECK(value<Clamp>(infinity, 0, 1) == 1);
  CHECK(value<Abs>(-infinity) == infinity);
}

TEST_CASE("A branch not taken reaches no derivative, whatever the upstream gradient is") {
  for (const double dy : {infinity, -infinity, nan_value}) {
    CHECK(slope_with<Relu>(dy, -1) == 0);
    CHECK(slope_with<Clamp>(dy, 5, 0, 1) == 0);
    CHECK(slope_with<SafeSqrt>(dy, 0) == 0);
    CHECK(slope_with<SafeLog>(dy, 0) == 0);
    CHECK(slope_with<Maximum, 0>(dy, 1, 2) == 0);
    CHECK((slope_with<Where, 1>(dy, 0, nan_value, 2) == 0));
    CHECK((slope_with<Where, 2>(dy, 1, 2, infinity) == 0));
  }
  // log and sqrt of a negative number stand in the branch not taken.
  CHECK(value<SafeLog>(-2) == 0);
  CHECK(slope<SafeLog>(-2) == 0);
  CHECK(curvature<SafeLog, 0, 0>(-2) == 0);
  CHECK(value<SafeSqrt>(-2) == 0);
  CHECK(curvature<SafeSqrt, 0, 0>(0) == 0);
}

TEST_CASE("sqrt at 0 is IEEE's, safe_sqrt and safe_log are 0 with derivative 0") {
  CHECK(slope<Sqrt>(0) == infinity);
  CHECK(std::isnan(slope_with<Sqrt>(0, 0)));  // √((x − 1)²) at 1: the inspector names it
  CHECK(std::isnan(value<Sqrt>(-1)));
  CHECK(value<SafeSqrt>(0) == 0);
  CHECK(slope<SafeSqrt>(0) == 0);
  CHECK(value<SafeLog>(0) == 0);
  CHECK(slope<SafeLog>(0) == 0);
  CHECK(std::isnan(value<SafeSqrt>(nan_value)));
  CHECK(std::isnan(value<SafeLog>(nan_value)));
  CHECK(value<Log>(0) == -infinity);
  CHECK(slope<Log>(0) == infinity);
}

TEST_CASE("pow at base 0") {
  CHECK(value<Pow>(0, 0) == 1);
  CHECK(slope<Pow, 0>(0, 0) == 0);
  CHECK(slope<Pow, 1>(0, 0) == 0);
  CHECK(slope<Pow, 1>(0, 1) == 0);
  CHECK(slope<Pow, 0>(0, 1) == 1);
  CHECK(slope<Pow, 0>(0, 2) == 0);
  CHECK(curvature<Pow, 0, 0>(0, 2) == 2);
  CHECK(curvature<Pow, 0, 0>(0, 1) == 0);
  CHECK(curvature<Pow, 0, 0>(0, 0) == 0);
  CHECK(slope<Pow, 0>(0, 0.5) == infinity);
  // The logarithm of a negative base is never taken when only the base is asked for.
  CHECK(slope<Pow, 0>(-2, 3) == 12);
  CHECK(curvature<Pow, 0, 0>(-2, 3) == -12);
  CHECK(std::isnan(slope<Pow, 1>(-2, 3)));
}

TEST_CASE("Saturated formulas keep their value and slope") {
  CHECK(value<Softplus>(100) == 100);
  CHECK(value<Softplus>(-1000) == 0);
  CHECK(value<Softplus>(infinity) == infinity);
  CHECK(slope<Softplus>(100) == 1);
  CHECK(slope<Softplus>(0) == 0.5);
  CHECK(slope<Softplus>(infinity) == 1);
  CHECK(slope<Softplus>(-infinity) == 0);
  CHECK(value<LogSigmoid>(-300) == -300);
  CHECK(slope<LogSigmoid>(-300) == 1);
  CHECK(value<LogSigmoid>(-infinity) == -infinity);
  CHECK(slope<LogSigmoid>(0) == 0.5);
  CHECK(value<Softplus, float>(100) == 100);
  CHECK(slope<Softplus, 0, float>(-300) == 0);
  CHECK(slope<LogSigmoid, 0, float>(-300) == 1);

  CHECK(value<Sigmoid>(-1000) == 0);
  CHECK(value<Sigmoid>(1000) == 1);
  CHECK(value<Sigmoid>(-infinity) == 0);
  CHECK(value<Sigmoid>(infinity) == 1);
  CHECK(slope<Sigmoid>(1000) == 0);
  CHECK(slope<Sigmoid>(-1000) == 0);
  CHECK(slope<Sigmoid>(0) == 0.25);
  CHECK(slope<Sigmoid>(-50) == Approx(std::exp(-50.0)).epsilon(1e-13));
  CHECK(slope<Sigmoid>(50) == Approx(std::exp(-50.0)).epsilon(1e-13));
  CHECK(curvature<Sigmoid, 0, 0>(0) == 0);

  CHECK(value<Silu>(-infinity) == 0);
  CHECK(value<Silu>(infinity) == infinity);
  CHECK(slope<Silu>(-1000) == 0);
  CHECK(slope<Silu>(1000) == 1);
  CHECK(value<Gelu>(-infinity) == 0);
  CHECK(value<Gelu>(infinity) == infinity);
  CHECK(slope<Gelu>(-1000) == 0);
  CHECK(slope<Gelu>(1000) == 1);
  CHECK(value<Tanh>(1000) == 1);
  CHECK(slope<Tanh>(1000) == 0);
  CHECK(slope<Erf>(1000) == 0);
  CHECK(value<Exp>(1000) == infinity);
  CHECK(slope<Exp>(1000) == infinity);
  CHECK(value<Rsqrt>(0) == infinity);
  CHECK(value<Rsqrt>(infinity) == 0);
  CHECK(slope<Rsqrt>(infinity) == 0);
}

TEST_CASE("NaN in, NaN out, of every formula of one argument") {
  const auto check = [](auto formula) {
    using F = decltype(formula);
    CHECK(std::isnan(value<F>(nan_value)));
    CHECK(std::isnan(value<F, float>(nan_value)));
  };
  check(Neg{}), check(Square{}), check(Sqrt{}), check(Rsqrt{}), check(SafeSqrt{}), check(Abs{}),
      check(Relu{});
  check(Exp{}), check(Log{}), check(SafeLog{}), check(Log1p{}), check(Expm1{}), check(Tanh{}),
      check(Sigmoid{});
  check(Softplus{}), check(LogSigmoid{}), check(Silu{}), check(Sin{}), check(Cos{}), check(Erf{}),
      check(Gelu{});
}

TEST_CASE("Only the argument that is asked for is dual: 0·∞ does not come from the others") {
  CHECK(slope<Mul, 0>(infinity, 2) == 2);
  CHECK(slope<Div, 0>(infinity, 4) == 0.25);
  CHECK(slope<Add, 0>(infinity, -infinity) == 1);
  CHECK((curvature<Mul, 0, 1>(infinity, infinity)) == 1);
  CHECK((curvature<Exp, 0, 0>(1000)) == infinity);
  CHECK((curvature<Square, 0, 0>(infinity)) == 2);
  CHECK((curvature<Softplus, 0, 0>(1000)) == 0);
  CHECK((curvature<Sigmoid, 0, 0>(-1000)) == 0);
  CHECK((curvature<Silu, 0, 0>(-infinity)) == 0);
  CHECK((curvature<Gelu, 0, 0>(-infinity)) == 0);
  CHECK((curvature<Gelu, 0, 0>(infinity)) == 0);
  CHECK((curvature<Erf, 0, 0>(infinity)) == 0);
  CHECK((curvature<Tanh, 0, 0>(infinity)) == 0);
}

TEST_CASE("Dual numbers mix with lanes, numbers and assignments") {
  using L = Lane<double>;
  using D = Dual<L>;
  using I = Dual<L, true>;
  const auto formula = [](auto x) {
    auto sum = x;
    for (int k = 2; k <= 4; ++k) sum += x * k;  // 10 x
    sum -= 1;
    sum *= x;  // 10 x² − x
    sum /= 2;  // 5 x² − x/2
    return 3 - sum + pow(x, 3) / L(2) + min(x, 100) + max(-100, x) + 1 / x - 2.0 * x;
  };
  // 3 − 5x² + x/2 + x³/2 + 2x + 1/x − 2x
  const double x = 1.7;
  double got[L::size];
  formula(D(L(x), L(1))).d.store(got);
  CHECK(got[0] == Approx(-10 * x + 0.5 + 1.5 * x * x - 1 / (x * x)).epsilon(1e-14));
  derivative(derivative(formula(Dual<I>(I(L(x), L(1)), I(L(1), L(0)))))).store(got);
  CHECK(got[0] == Approx(-10 + 3 * x + 2 / (x * x * x)).epsilon(1e-14));
  double plain[L::size];
  formula(L(x)).store(plain);
  CHECK(plain[0] == Approx(3 - 5 * x * x + x / 2 + x * x * x / 2 + 1 / x).epsilon(1e-14));
}
