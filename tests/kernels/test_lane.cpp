// Functions of lanes against the standard library in long double, at ordinary numbers and at the ends of the
// range.
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "autograd/kernels/lane.hpp"
#include "autograd/random.hpp"
#include "tests/catch.hpp"

using namespace pencil::kernels;

namespace {

using Real = long double;

template <class T>
using Limits = std::numeric_limits<T>;

template <class T>
Lane<T> all_of(T x) {
  return Lane<T>(x);
}

template <class T>
T first(Lane<T> x) {
  T out;
  x.store_first(&out, 1);
  return out;
}

/// How many units in the last place `got` is away from `want`; 0 for equal infinities and for NaN both times.
template <class T>
double units_off(T got, Real want) {
  const T rounded = static_cast<T>(want);
  if (std::isnan(rounded)) return std::isnan(got) ? 0 : 1e300;
  if (std::isinf(rounded)) return got == rounded ? 0 : 1e300;
  if (rounded == 0 && got == 0) return std::signbit(got) == std::signbit(rounded) ? 0 : 1e300;
  const T size = std::abs(rounded);
  const Real unit =
      size < Limits<T>::min() ? Real(Limits<T>::denorm_min()) : Real(size) - Real(std::nextafter(size, T{0}));
  return static_cast<double>(std::abs(Real(got) - want) / unit);
}

/// Ordinary numbers and those where functions go wrong.
template <class T>
std::vector<T> numbers() {
  std::vector<T> xs{T(0.0),
                    T(-0.0),
                    1,
                    -1,
                    T(0.5),
                    2,
                    3,
                    T(-2.5),
                    T(1e-10),
                    Limits<T>::infinity(),
                    -Limits<T>::infinity(),
                    Limits<T>::quiet_NaN(),
                    Limits<T>::min(),
                    Limits<T>::denorm_min(),
                    Limits<T>::min() / 4,
                    -Limits<T>::min() / 4,
                    Limits<T>::max(),
                    Limits<T>::lowest(),
                    Limits<T>::epsilon(),
                    T(88.5),
                    T(88.72),
                    T(89),
                    T(-87.5),
                    T(-95),
                    T(-103),
                    T(-104.5),
                    T(709.5),
                    T(710),
                    T(-708.5),
                    T(-740),
                    T(-746),
                    T(8191.5),
                    T(8193),
                    T(1e6),
                    T(2e6),
                    T(1e10),
                    T(1e22),
                    T(16777217),
                    T(9007199254740993),
                    T(355),
                    T(710.0 / 226),
                    T(3.14159265358979323846)};
  pencil::Rng rng{1};
  for (int i = 0; i < 3000; ++i) {
    xs.push_back(static_cast<T>((rng.uniform() - 0.5) * 20));
    xs.push_back(static_cast<T>((rng.uniform() - 0.5) * 4000));
    xs.push_back(static_cast<T>(std::exp2((rng.uniform() - 0.5) * 240)));
  }
  return xs;
}

template <class T, class F, class G>
void compare(const std::string& name, F of_lane, G exact, double allowed) {
  double worst = 0;
  T worst_at = 0;
  for (const T x : numbers<T>()) {
    const double off = units_off<T>(first<T>(of_lane(all_of(x))), exact(Real(x)));
    if (off > worst) {
      worst = off;
      worst_at = x;
    }
  }
  INFO(name << (sizeof(T) == 4 ? " f32" : " f64") << " is " << worst << " units off at " << worst_at);
  CHECK(worst <= allowed);
}

#define COMPARE(f, allowed)                                                        \
  compare<float>(                                                                  \
      #f, [](auto x) { return f(x); }, [](Real x) { return std::f(x); }, allowed); \
  compare<double>(                                                                 \
      #f, [](auto x) { return f(x); }, [](Real x) { return std::f(x); }, allowed)

}  // namespace

TEST_CASE("Functions of lanes are right to a few units in the last place, at the ends of the range too") {
  COMPARE(exp, 1.5);
  COMPARE(log, 1.5);
  COMPARE(log1p, 1.5);
  COMPARE(expm1, 2.5);
  COMPARE(sqrt, 0.51);
  COMPARE(abs, 0);
  COMPARE(sin, 2.5);
  COMPARE(cos, 2.5);
  COMPARE(tanh, 2);
}

TEMPLATE_TEST_CASE("exp_of_negative is e^x down to the normal numbers and then 0", "", float, double) {
  using T = TestType;
  const T least = sizeof(T) == 4 ? T(-87) : T(-708);
  for (int i = 0; i <= 10000; ++i) {
    const T x = least * static_cast<T>(i) / 10000;
    CHECK(units_off(first(exp_of_negative(all_of(x))), std::exp(Real(x))) <= 2);
  }
  for (const T x : {least - 1, T(-1e30), -Limits<T>::infinity()})
    CHECK(first(exp_of_negative(all_of(x))) == 0);
  CHECK(std::isnan(first(exp_of_negative(all_of(Limits<T>::quiet_NaN())))));
}

TEST_CASE("erf of lanes is right to 2e-7 (f32) and 1e-14 (f64)") {
  for (const double x : numbers<double>()) {
    const double got = first<double>(erf(all_of(x)));
    const Real want = std::erf(Real(x));
    CHECK((std::isnan(x) ? std::isnan(got) : std::abs(Real(got) - want) < 1e-14L));
    const auto y = static_cast<float>(x);
    const float got32 = first<float>(erf(all_of(y)));
    CHECK((std::isnan(y) ? std::isnan(got32) : std::abs(Real(got32) - std::erf(Real(y))) < 2e-7L));
  }
  CHECK(units_off<double>(first<double>(erf(all_of(1e-300))), std::erf(1e-300L)) < 40);
  CHECK(std::signbit(first<double>(erf(all_of(-0.0)))));
}

TEMPLATE_TEST_CASE("pow of lanes is C's pow", "", float, double) {
  using T = TestType;
  pencil::Rng rng{2};
  double worst = 0;
  for (int i = 0; i < 20000; ++i) {
    const T a = static_cast<T>(std::exp2((rng.uniform() - 0.5) * 40)),
            b = static_cast<T>((rng.uniform() - 0.5) * 12);
    worst = std::max(worst, units_off<T>(first<T>(pow(all_of(a), all_of(b))), std::pow(Real(a), Real(b))));
  }
  CHECK(worst < 2.5);

  const T infinity = Limits<T>::infinity();
  const std::array<T, 20> special{0,
                                  T(-0.0),
                                  1,
                                  -1,
                                  2,
                                  -2,
                                  T(0.5),
                                  T(-0.5),
                                  3,
                                  -3,
                                  T(1.5),
                                  1000,
                                  -1001,
                                  T(1e9),
                                  T(16777215),
                                  T(-4503599627370497),
                                  Limits<T>::max(),
                                  infinity,
                                  -infinity,
                                  Limits<T>::quiet_NaN()};
  for (const T a : special)
    for (const T b : special) {
      CAPTURE(a, b, first<T>(pow(all_of(a), all_of(b))), std::pow(Real(a), Real(b)));
      // The error of the logarithm grows with the exponent.
      CHECK(units_off<T>(first<T>(pow(all_of(a), all_of(b))), std::pow(Real(a), Real(b))) <
            (std::abs(b) < 100 ? 2.5 : 8));
    }
  for (const int n : {0, 1, 2, 3, 10, -1, -2})
    for (const T a : {T(0.0), T(1.5), T(-2.0), infinity}) {
      CAPTURE(a, n);
      CHECK(units_off<T>(first<T>(pow(all_of(a), n)), std::pow(Real(a), Real(n))) < 4);
    }
}

TEMPLATE_TEST_CASE("min and max of lanes and numbers keep NaN on either side", "", float, double) {
  using T = TestType;
  const T nan = Limits<T>::quiet_NaN();
  for (const T x : {T(-1), T(0), T(5), Limits<T>::infinity(), nan}) {
    CHECK(std::isnan(first<T>(max(all_of(x), all_of(nan)))));
    CHECK(std::isnan(first<T>(max(all_of(nan), all_of(x)))));
    CHECK(std::isnan(first<T>(min(all_of(x), all_of(nan)))));
    CHECK(std::isnan(first<T>(min(all_of(nan), all_of(x)))));
    CHECK(std::isnan(pencil::max(x, nan)));
    CHECK(std::isnan(pencil::max(nan, x)));
    CHECK(std::isnan(pencil::min(x, nan)));
    CHECK(std::isnan(pencil::min(nan, x)));
  }
  CHECK(first<T>(max(all_of(T(2)), 3)) == 3);
  CHECK(first<T>(min(2, all_of(T(3)))) == 2);
}

TEMPLATE_TEST_CASE("Comparisons of lanes treat NaN as IEEE does", "", float, double) {
  using T = TestType;
  const T nan = Limits<T>::quiet_NaN();
  const auto answer = [](LaneMask<T> m) { return first<T>(select(m, 1, 0)) == 1; };
  for (const T a : {T(-1), T(0), T(2), nan})
    for (const T b : {T(-1), T(0), T(2), nan}) {
      CAPTURE(a, b);
      CHECK(answer(all_of(a) < all_of(b)) == (a < b));
      CHECK(answer(all_of(a) <= all_of(b)) == (a <= b));
      CHECK(answer(all_of(a) > all_of(b)) == (a > b));
      CHECK(answer(all_of(a) >= all_of(b)) == (a >= b));
      CHECK(answer(all_of(a) == all_of(b)) == (a == b));
      CHECK(answer(all_of(a) != all_of(b)) == (a != b));
      CHECK(answer(!(all_of(a) < all_of(b))) == !(a < b));
      CHECK(answer(all_of(a) < 1 && all_of(b) < 1) == (a < 1 && b < 1));
      CHECK(answer(all_of(a) < 1 || all_of(b) < 1) == (a < 1 || b < 1));
    }
}

TEMPLATE_TEST_CASE("Every number of a lane is compared and chosen for itself", "", float, double) {
  using T = TestType;
  std::array<T, 64> x{}, y{};
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (i % 3 == 0) ? T(-1) : T(1);
  for (std::size_t i = 0; i + Lane<T>::size <= x.size(); i += Lane<T>::size) {
    const auto v = Lane<T>::load(&x[i]);
    select(v > 0, v * 10, -v).store(&y[i]);
  }
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == (x[i] > 0 ? T(10) : T(1)));
}

TEMPLATE_TEST_CASE("A number's result does not depend on its neighbours", "", float, double) {
  using T = TestType;
  const std::array<T, 8> hostile{
      T(0), T(1e-3), T(3), T(500), T(1e5), T(1e18), Limits<T>::infinity(), Limits<T>::quiet_NaN()};
  const auto check = [&](auto f) {
    for (const T x : {T(0.3), T(1.2), T(2.9), T(40), T(300), T(-0.7), T(-100)}) {
      const T alone = first<T>(f(all_of(x)));
      for (const T neighbour : hostile) {
        std::array<T, Lane<T>::size> in, out;
        in.fill(neighbour);
        in[0] = x;
        f(Lane<T>::load(in.data())).store(out.data());
        CHECK((out[0] == alone || (std::isnan(out[0]) && std::isnan(alone))));
      }
    }
  };
  check([](auto x) { return exp(x); });
  check([](auto x) { return log(x); });
  check([](auto x) { return log1p(x); });
  check([](auto x) { return expm1(x); });
  check([](auto x) { return sin(x); });
  check([](auto x) { return cos(x); });
  check([](auto x) { return tanh(x); });
  check([](auto x) { return erf(x); });
  check([](auto x) { return pow(x, Lane<T>(T(2.5))); });
}

TEMPLATE_TEST_CASE("Part of a lane is read and written without touching what lies behind", "", float,
                   double) {
  using T = TestType;
  using L = Lane<T>;
  for (std::int64_t n = 1; n <= L::size + 2; ++n) {
    const auto count = static_cast<std::size_t>(std::min(n, L::size));
    std::vector<T> in(count, T(3)), out(count + 1, T(-1));  // under the address sanitizer a wider read fails
    std::array<T, L::size> whole;
    L::load_first(in.data(), n).store(whole.data());
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(whole[i] == (i < count ? T(3) : T(0)));
    (L::load_first(in.data(), n) * 2).store_first(out.data(), n);
    for (std::size_t i = 0; i < count; ++i) CHECK(out[i] == T(6));
    CHECK(out[count] == T(-1));
  }
}

TEMPLATE_TEST_CASE("A lane's numbers are summed and the largest is found", "", float, double) {
  using T = TestType;
  std::array<T, Lane<T>::size> x;
  T sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<T>((i * 5) % 7);
    sum += x[i];
  }
  CHECK(reduce_add(Lane<T>::load(x.data())) == sum);
  CHECK(reduce_max(Lane<T>::load(x.data())) == *std::max_element(x.begin(), x.end()));
  x.back() = Limits<T>::quiet_NaN();
  CHECK(std::isnan(reduce_max(Lane<T>::load(x.data()))));
}

TEST_CASE("A formula works for plain numbers as for lanes") {
  using namespace pencil;
  const auto formula = [](auto x, auto y) {
    return select(x > 0, x / (1 + exp(-x)), max(x, y) + abs(y) * rsqrt(4));
  };
  static_assert(std::is_same_v<decltype(formula(1.0, 2.0)), double>);
  CHECK(formula(1.0, 0.0) == Approx(1 / (1 + std::exp(-1.0))));
  CHECK(formula(-1.0, -3.0) == Approx(-1 + 3 * 0.5));
  CHECK(first<double>(formula(all_of(-1.0), all_of(-3.0))) == Approx(-1 + 3 * 0.5));
}
