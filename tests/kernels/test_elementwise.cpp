// The loops of elementwise kernels: broadcasting against a naive twin, ends of arrays, threads, formulas of a
// user.
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "autograd/kernels/builtin.hpp"
#include "autograd/kernels/threads.hpp"
#include "autograd/random.hpp"
#include "tests/catch.hpp"

using namespace pencil;
using namespace pencil::kernels;

namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t count(const Sizes& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
}

/// Where output element i reads an input of the given sizes.
std::int64_t place(const Sizes& out, const Sizes& in, std::int64_t i) {
  std::int64_t offset = 0, step = 1;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const std::int64_t extent = out[out.size() - 1 - k], at = i % extent;
    i /= extent;
    if (k >= in.size()) continue;
    const std::int64_t own = in[in.size() - 1 - k];
    if (own != 1) offset += at * step;
    step *= own;
  }
  return offset;
}

std::vector<double> random_numbers(std::int64_t n, Rng& rng) {
  std::vector<double> x(static_cast<std::size_t>(n));
  for (double& v : x) v = rng.uniform() * 2 - 1;
  return x;
}

Broadcast walk_of(const Sizes& out, const std::vector<Sizes>& in) {
  std::vector<std::span<const std::int64_t>> spans(in.begin(), in.end());
  return plan(out, spans);
}

void check_broadcast(const Sizes& out, const Sizes& a, const Sizes& b) {
  Rng rng{9};
  const auto x = random_numbers(count(a), rng), y = random_numbers(count(b), rng);
  const auto dy = random_numbers(count(out), rng);
  std::vector<double> z(dy.size()), dx(dy.size());
  const double* inputs[]{x.data(), y.data()};
  const Broadcast walk = walk_of(out, {a, b});
  const auto& sub = builtin<formulas::Sub, double>();
  const auto& mul = builtin<formulas::Mul, double>();
  sub.forward(walk, inputs, z.data());
  mul.partial(0, walk, dy.data(), inputs, dx.data());
  for (std::int64_t i = 0; i < count(out); ++i) {
    const auto u = static_cast<std::size_t>(i);
    const double p = x[static_cast<std::size_t>(place(out, a, i))],
                 q = y[static_cast<std::size_t>(place(out, b, i))];
    if (z[u] != p - q || dx[u] != dy[u] * q) {
      CAPTURE(out, a, b, i);
      FAIL("broadcast differs from its twin");
    }
  }
}

}  // namespace

TEST_CASE("Broadcasting agrees with a naive twin") {
  check_broadcast({}, {}, {});
  check_broadcast({1}, {}, {1});
  check_broadcast({3}, {3}, {});
  check_broadcast({3}, {}, {3});
  check_broadcast({5, 4}, {5, 4}, {4});
  check_broadcast({5, 4}, {5, 1}, {4});
  check_broadcast({5, 4}, {1, 4}, {5, 1});
  check_broadcast({5, 4}, {}, {5, 1});
  check_broadcast({2, 3, 4}, {3, 1}, {2, 1, 4});
  check_broadcast({2, 3, 4}, {2, 3, 1}, {1, 1, 4});
  check_broadcast({2, 3, 1, 4}, {2, 1, 1, 4}, {3, 1, 1});
  check_broadcast({2, 1, 3, 2, 1, 2, 3, 2}, {2, 1, 1, 2, 1, 1, 3, 1}, {3, 1, 1, 2, 1, 2});
  check_broadcast({0}, {0}, {1});
  check_broadcast({3, 0, 2}, {3, 0, 1}, {2});
  // Widths around a block and around a piece of a thread.
  for (const std::int64_t width : {1, 2, 7, 31, 512, 999, 1023, 1024, 1025, 2049, 5000})
    for (const std::int64_t rows : {1, 3, 70}) {
      check_broadcast({rows, width}, {rows, width}, {width});
      check_broadcast({rows, width}, {rows, 1}, {rows, width});
      check_broadcast({rows, width}, {rows, 1}, {width});
      check_broadcast({rows, width}, {}, {rows, width});
    }
}

TEST_CASE("A broadcast walk merges axes and knows its patterns") {
  const Broadcast same = walk_of({4, 1, 5, 6}, {{4, 1, 5, 6}, {4, 1, 5, 6}});
  CHECK((same.axes == 1 && same.flat && same.extent[0] == 120));
  const Broadcast bias = walk_of({4, 5, 6}, {{4, 5, 6}, {6}});
  CHECK((bias.axes == 2 && !bias.flat && bias.period[0] == 120 && bias.period[1] == 6));
  const Broadcast number = walk_of({4, 5, 6}, {{4, 5, 6}, {}});
  CHECK((number.axes == 1 && number.period[1] == 1));
  const Broadcast column = walk_of({4, 5, 6}, {{4, 5, 6}, {4, 1, 1}});
  CHECK((column.axes == 2 && column.period[1] == 0 && column.stride[1][0] == 1 && column.stride[1][1] == 0));
}

TEST_CASE("Four arguments, each broadcast its own way, with every partial derivative") {
  const auto blend = [](auto a, auto b, auto c, auto d) { return a * b + c / d; };
  constexpr auto table = elementwise_table<decltype(blend), double>();
  static_assert(table.arity == 4);
  const Sizes out{3, 5, 7};
  const std::vector<Sizes> in{{5, 7}, {3, 1, 1}, {7}, {3, 5, 1}};
  Rng rng{4};
  std::vector<std::vector<double>> x;
  for (const Sizes& s : in) x.push_back(random_numbers(count(s), rng));
  for (double& v : x[3]) v += 2;
  const auto dy = random_numbers(count(out), rng);
  const double* inputs[]{x[0].data(), x[1].data(), x[2].data(), x[3].data()};
  const Broadcast walk = walk_of(out, in);
  std::vector<double> y(dy.size());
  std::array<std::vector<double>, 4> partials;
  table.forward(walk, inputs, y.data());
  for (int k = 0; k < 4; ++k) {
    partials[static_cast<std::size_t>(k)].resize(dy.size());
    table.partial(k, walk, dy.data(), inputs, partials[static_cast<std::size_t>(k)].data());
  }
  for (std::int64_t i = 0; i < count(out); ++i) {
    const auto u = static_cast<std::size_t>(i);
    double v[4];
    for (std::size_t k = 0; k < 4; ++k) v[k] = x[k][static_cast<std::size_t>(place(out, in[k], i))];
    CHECK(y[u] == Approx(v[0] * v[1] + v[2] / v[3]).epsilon(1e-14));
    CHECK(partials[0][u] == Approx(dy[u] * v[1]).epsilon(1e-14));
    CHECK(partials[1][u] == Approx(dy[u] * v[0]).epsilon(1e-14));
    CHECK(partials[2][u] == Approx(dy[u] / v[3]).epsilon(1e-14));
    CHECK(partials[3][u] == Approx(-dy[u] * v[2] / (v[3] * v[3])).epsilon(1e-14));
  }
}

TEST_CASE("A formula may capture numbers") {
  const double beta = 5;
  const auto softplus = [beta](auto x) { return log1p(exp(beta * x)) / beta; };
  using F = decltype(softplus);
  constexpr auto table = elementwise_table<F, float>();
  const float x[]{0.5f, -0.25f, 1};
  const float* inputs[]{x};
  const float dy[]{1, 1, 1};
  float y[3], dx[3];
  table.forward(flat_plan(3, 1), inputs, y, &softplus);
  table.partial(0, flat_plan(3, 1), dy, inputs, dx, &softplus);
  for (int i = 0; i < 3; ++i) {
    CHECK(y[i] == Approx(std::log1p(std::exp(5 * x[i])) / 5).epsilon(1e-6));
    CHECK(dx[i] == Approx(1 / (1 + std::exp(-5 * x[i]))).epsilon(1e-6));
  }
}

TEST_CASE("A formula that does not use an argument, or gives a plain number, has derivative 0") {
  const auto first = [](auto a, auto) { return a; };
  const auto seven = [](auto) { return 7; };
  using First = decltype(first);
  using Seven = decltype(seven);
  const double a = 3, b = std::numeric_limits<double>::infinity(), dy = 2, u = 5;
  const double* inputs[]{&a, &b};
  double out = -1;
  elementwise_table<First, double>().partial(1, flat_plan(1, 2), &dy, inputs, &out);
  CHECK(out == 0);
  elementwise_table<First, double>().second(0, 1, flat_plan(1, 2), &u, &dy, inputs, &out);
  CHECK(out == 0);
  elementwise_table<Seven, double>().forward(flat_plan(1, 1), inputs, &out);
  CHECK(out == 7);
  elementwise_table<Seven, double>().partial(0, flat_plan(1, 1), &dy, inputs, &out);
  CHECK(out == 0);
}

TEST_CASE("A result may be written over an input") {
  std::vector<float> x(40), want(40);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(i) / 8;
    want[i] = x[i] * 0.5f;
  }
  const float half = 0.5f;
  const float* inputs[]{x.data(), &half};
  builtin<formulas::Mul, float>().forward(walk_of({40}, {{40}, {}}), inputs, x.data());
  CHECK(x == want);
}

TEMPLATE_TEST_CASE("A number has the same bits wherever it stands", "", float, double) {
  using T = TestType;
  const auto check = [](const ElementwiseTable<T>& table) {
    constexpr std::size_t most = 70;
    for (const double number : {0.3, 0.7, 1.9}) {
      const std::vector<T> x(most, static_cast<T>(number)), dy(most, T(0.37));
      std::vector<T> y(most);
      const T* inputs[]{x.data(), x.data(), x.data()};
      T forward = 0, partial = 0, second = 0;
      for (std::int64_t n = 1; n <= 67; ++n) {
        const auto all_are = [&](T& first) {
          if (n == 1) first = y[0];
          for (std::int64_t i = 0; i < n; ++i)
            if (std::memcmp(&y[static_cast<std::size_t>(i)], &first, sizeof(T)) != 0) return false;
          return true;
        };
        const Broadcast walk = flat_plan(n, table.arity);
        table.forward(walk, inputs, y.data());
        CHECK(all_are(forward));
        table.partial(0, walk, dy.data(), inputs, y.data());
        CHECK(all_are(partial));
        table.second(0, 0, walk, dy.data(), dy.data(), inputs, y.data());
        CHECK(all_are(second));
      }
    }
  };
  using namespace formulas;
  check(builtin<Mul, T>()), check(builtin<Div, T>()), check(builtin<Sqrt, T>()), check(builtin<Exp, T>());
  check(builtin<Log, T>()), check(builtin<Tanh, T>()), check(builtin<Sigmoid, T>()),
      check(builtin<Softplus, T>());
  check(builtin<Sin, T>()), check(builtin<Cos, T>()), check(builtin<Gelu, T>()), check(builtin<Pow, T>());
}

TEST_CASE("Elementwise kernels have the same bits for any number of threads", "[threads]") {
  const std::int64_t rows = 211, width = 997;
  Rng rng{6};
  const auto x = random_numbers(rows * width, rng), bias = random_numbers(width, rng);
  const double* inputs[]{x.data(), bias.data()};
  const Broadcast walk = walk_of({rows, width}, {{rows, width}, {width}});
  const int before = threads();
  std::vector<std::vector<double>> results;
  for (const int team : {1, 2, 3}) {
    set_threads(team);
    std::vector<double> y(x.size());
    builtin<formulas::Mul, double>().forward(walk, inputs, y.data());
    const double* again[]{y.data()};
    builtin<formulas::Gelu, double>().partial(0, flat_plan(rows * width, 1), x.data(), again, y.data());
    results.push_back(y);
  }
  set_threads(before);
  CHECK((results[0] == results[1] && results[0] == results[2]));
}

TEMPLATE_TEST_CASE("where chooses by a broadcast condition of whole numbers", "", float, double) {
  using T = TestType;
  const std::int32_t condition[]{1, 0, 7};
  const T a[]{1, std::numeric_limits<T>::quiet_NaN(), 3}, b = -1;
  T y[6];
  where(walk_of({2, 3}, {{3}, {1, 3}, {}}), condition, a, &b, y);
  for (int i = 0; i < 6; ++i) CHECK(y[i] == (i % 3 == 1 ? T(-1) : a[i % 3]));
}

TEST_CASE("Comparisons give 0 and 1, for broadcast numbers and whole numbers") {
  const double nan = std::nan("");
  const double a[]{1, 2, 3, nan}, b[]{1, 3, 2, nan};
  std::int32_t y[4];
  const auto result = [&] { return std::vector<std::int32_t>(y, y + 4); };
  using Numbers = std::vector<std::int32_t>;
  compare<formulas::Equal>(flat_plan(4, 2), a, b, y);
  CHECK(result() == Numbers{1, 0, 0, 0});
  compare<formulas::NotEqual>(flat_plan(4, 2), a, b, y);
  CHECK(result() == Numbers{0, 1, 1, 1});
  compare<formulas::Less>(flat_plan(4, 2), a, b, y);
  CHECK(result() == Numbers{0, 1, 0, 0});
  compare<formulas::LessEqual>(flat_plan(4, 2), a, b, y);
  CHECK(result() == Numbers{1, 1, 0, 0});

  // Whole numbers that float cannot tell apart.
  const std::int32_t big[]{16777216, 16777217, 2147483647, -2147483647 - 1}, one = 16777217;
  compare<formulas::Equal>(walk_of({4}, {{4}, {}}), big, &one, y);
  CHECK(result() == Numbers{0, 1, 0, 0});
  compare<formulas::Less>(walk_of({4}, {{4}, {}}), big, &one, y);
  CHECK(result() == Numbers{1, 0, 0, 1});
}
