// Every built-in formula against closed forms in long double: value, partial and second derivatives, at every
// length 1 … 67 and from unaligned starts.
#include <array>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include "autograd/kernels/builtin.hpp"
#include "autograd/random.hpp"
#include "tests/catch.hpp"

using namespace pencil;
using namespace pencil::kernels;

namespace {

using Real = long double;

/// A formula with its closed form: value and partial derivatives as functions of the arguments.
struct Closed {
  std::vector<std::array<double, 2>> range;  ///< of each argument
  Real (*value)(const Real* x);
  std::vector<Real (*)(const Real* x)> partials;
};

template <class T>
double tolerance() {
  return sizeof(T) == 4 ? 3e-6 : 1e-13;
}

template <class T>
void compare_numbers(const std::string& what, T got, Real want, double allowed) {
  const Real scale = std::max(Real{1}, std::abs(want));
  if (!(std::abs(static_cast<Real>(got) - want) <= static_cast<Real>(allowed) * scale)) {
    INFO(what << ": got " << got << ", want " << static_cast<double>(want));
    CHECK(false);
  }
}

template <class F, class T>
void check_type(const std::string& name, const Closed& closed) {
  const ElementwiseTable<T>& table = builtin<F, T>();
  const auto arity = static_cast<std::size_t>(table.arity);
  REQUIRE(closed.range.size() == arity);
  Rng rng{7};
  for (std::int64_t n = 1; n <= 67; ++n) {
    const auto start = static_cast<std::size_t>(n % 5);  // elements past an aligned address
    const auto count = static_cast<std::size_t>(n) + start;
    std::vector<std::vector<T>> x(arity, std::vector<T>(count));
    std::vector<T> dy(count), u(count), out(count + 1);
    const T* pointers[4] = {};
    for (std::size_t k = 0; k < arity; ++k) {
      for (T& v : x[k])
        v = static_cast<T>(closed.range[k][0] + (closed.range[k][1] - closed.range[k][0]) * rng.uniform());
      pointers[k] = x[k].data() + start;
    }
    for (T& v : dy) v = static_cast<T>(rng.uniform() * 2 - 1);
    for (T& v : u) v = static_cast<T>(rng.uniform() * 2 - 1);
    const Broadcast walk = flat_plan(n, table.arity);
    const auto argument = [&](std::size_t i) {
      std::array<Real, 4> a{};
      for (std::size_t k = 0; k < arity; ++k) a[k] = x[k][i];
      return a;
    };
    const T untouched = T{-77};

    out.assign(count + 1, untouched);
    table.forward(walk, pointers, out.data() + start);
    for (std::size_t i = start; i < count; ++i)
      compare_numbers(name, out[i], closed.value(argument(i).data()), tolerance<T>());
    CHECK(out[count] == untouched);

    for (std::size_t p = 0; p < closed.partials.size(); ++p) {
      const auto partial = closed.partials[p];
      out.assign(count + 1, untouched);
      table.partial(static_cast<int>(p), walk, dy.data() + start, pointers, out.data() + start);
      for (std::size_t i = start; i < count; ++i)
        compare_numbers(name + " partial " + std::to_string(p), out[i], dy[i] * partial(argument(i).data()),
                        4 * tolerance<T>());
      CHECK(out[count] == untouched);

      for (std::size_t q = 0; q < closed.partials.size(); ++q) {
        table.second(static_cast<int>(p), static_cast<int>(q), walk, u.data() + start, dy.data() + start,
                     pointers, out.data() + start);
        for (std::size_t i = start; i < count; ++i) {
          const Real h = 1e-6L;
          auto above = argument(i), below = argument(i);
          above[q] += h;
          below[q] -= h;
          const Real slope = (partial(above.data()) - partial(below.data())) / (2 * h);
          compare_numbers(name + " second " + std::to_string(p) + std::to_string(q), out[i],
                          u[i] * dy[i] * slope, std::max(1e-9, 10 * tolerance<T>()));
        }
      }
    }
  }
}

template <class F>
void check(const std::string& name, const Closed& closed) {
  check_type<F, float>(name, closed);
  check_type<F, double>(name, closed);
}

Real sigmoid(Real x) { return 1 / (1 + std::exp(-x)); }
Real density(Real x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi_v<Real>); }
Real normal(Real x) { return (1 + std::erf(x / std::numbers::sqrt2_v<Real>)) / 2; }
constexpr Real two_over_root_pi = 2 * std::numbers::inv_sqrtpi_v<Real>;

}  // namespace

#define X const Real* x
TEST_CASE("Arithmetic formulas match closed forms at every length") {
  using namespace formulas;
  check<Neg>("neg", {{{-3, 3}}, [](X) { return -x[0]; }, {[](X) { return Real{-1} + 0 * x[0]; }}});
  check<Add>("add", {{{-3, 3}, {-3, 3}},
                     [](X) { return x[0] + x[1]; },
                     {[](X) { return 1 + 0 * x[0]; }, [](X) { return 1 + 0 * x[0]; }}});
  check<Sub>("sub", {{{-3, 3}, {-3, 3}},
                     [](X) { return x[0] - x[1]; },
                     {[](X) { return 1 + 0 * x[0]; }, [](X) { return -1 + 0 * x[0]; }}});
  check<Mul>(
      "mul",
      {{{-3, 3}, {-3, 3}}, [](X) { return x[0] * x[1]; }, {[](X) { return x[1]; }, [](X) { return x[0]; }}});
  check<Div>("div", {{{-3, 3}, {0.5, 3}},
                     [](X) { return x[0] / x[1]; },
                     {[](X) { return 1 / x[1]; }, [](X) { return -x[0] / (x[1] * x[1]); }}});
  check<Square>("square", {{{-3, 3}}, [](X) { return x[0] * x[0]; }, {[](X) { return 2 * x[0]; }}});
  check<Sqrt>("sqrt",
              {{{0.3, 9}}, [](X) { return std::sqrt(x[0]); }, {[](X) { return 0.5L / std::sqrt(x[0]); }}});
  check<Rsqrt>("rsqrt", {{{0.5, 9}}, [](X) { return 1 / std::sqrt(x[0]); }, {[](X) {
                           return -0.5L / (x[0] * std::sqrt(x[0]));
                         }}});
  check<SafeSqrt>(
      "safe_sqrt",
      {{{0.3, 9}}, [](X) { return std::sqrt(x[0]); }, {[](X) { return 0.5L / std::sqrt(x[0]); }}});
  check<Abs>("abs",
             {{{-3, 3}}, [](X) { return std::abs(x[0]); }, {[](X) { return x[0] < 0 ? -1.0L : 1.0L; }}});
  check<Relu>(
      "relu",
      {{{-3, 3}}, [](X) { return std::max(x[0], Real{0}); }, {[](X) { return x[0] < 0 ? 0.0L : 1.0L; }}});
  check<Maximum>("maximum", {{{-3, 3}, {-3, 3}},
                             [](X) { return std::max(x[0], x[1]); },
                             {[](X) { return Real(x[0] > x[1]); }, [](X) { return Real(x[0] < x[1]); }}});
  check<Minimum>("minimum", {{{-3, 3}, {-3, 3}},
                             [](X) { return std::min(x[0], x[1]); },
                             {[](X) { return Real(x[0] < x[1]); }, [](X) { return Real(x[0] > x[1]); }}});
  check<Clamp>("clamp", {{{-3, 3}, {-2, -1}, {1, 2}},
                         [](X) { return std::clamp(x[0], x[1], x[2]); },
                         {[](X) { return Real(x[0] > x[1] && x[0] < x[2]); }, [](X) { return 0 * x[0]; },
                          [](X) { return 0 * x[0]; }}});
}

TEST_CASE("Exponential formulas match closed forms at every length") {
  using namespace formulas;
  const auto exponential = [](X) { return std::exp(x[0]); };
  check<Exp>("exp", {{{-4, 4}}, exponential, {exponential}});
  check<Log>("log", {{{0.3, 9}}, [](X) { return std::log(x[0]); }, {[](X) { return 1 / x[0]; }}});
  check<SafeLog>("safe_log", {{{0.3, 9}}, [](X) { return std::log(x[0]); }, {[](X) { return 1 / x[0]; }}});
  check<Log1p>("log1p",
               {{{-0.5, 9}}, [](X) { return std::log1p(x[0]); }, {[](X) { return 1 / (1 + x[0]); }}});
  check<Expm1>("expm1", {{{-4, 4}}, [](X) { return std::expm1(x[0]); }, {exponential}});
  check<Tanh>("tanh", {{{-4, 4}}, [](X) { return std::tanh(x[0]); }, {[](X) {
                         return 1 / (std::cosh(x[0]) * std::cosh(x[0]));
                       }}});
  check<Sigmoid>(
      "sigmoid",
      {{{-9, 9}}, [](X) { return sigmoid(x[0]); }, {[](X) { return sigmoid(x[0]) * sigmoid(-x[0]); }}});
  check<Softplus>(
      "softplus",
      {{{-9, 9}}, [](X) { return std::log1p(std::exp(x[0])); }, {[](X) { return sigmoid(x[0]); }}});
  check<LogSigmoid>(
      "log_sigmoid",
      {{{-9, 9}}, [](X) { return -std::log1p(std::exp(-x[0])); }, {[](X) { return sigmoid(-x[0]); }}});
  check<Silu>("silu", {{{-9, 9}}, [](X) { return x[0] * sigmoid(x[0]); }, {[](X) {
                         return sigmoid(x[0]) * (1 + x[0] * sigmoid(-x[0]));
                       }}});
}

TEST_CASE("Special formulas match closed forms at every length") {
  using namespace formulas;
  check<Sin>("sin", {{{-9, 9}}, [](X) { return std::sin(x[0]); }, {[](X) { return std::cos(x[0]); }}});
  check<Cos>("cos", {{{-9, 9}}, [](X) { return std::cos(x[0]); }, {[](X) { return -std::sin(x[0]); }}});
  check<Erf>("erf", {{{-4, 4}}, [](X) { return std::erf(x[0]); }, {[](X) {
                       return two_over_root_pi * std::exp(-x[0] * x[0]);
                     }}});
  check<Gelu>("gelu", {{{-5, 5}}, [](X) { return x[0] * normal(x[0]); }, {[](X) {
                         return normal(x[0]) + x[0] * density(x[0]);
                       }}});
  check<Pow>("pow", {{{0.3, 3}, {-3, 3}},
                     [](X) { return std::pow(x[0], x[1]); },
                     {[](X) { return x[1] * std::pow(x[0], x[1] - 1); },
                      [](X) { return std::pow(x[0], x[1]) * std::log(x[0]); }}});
}
#undef X
