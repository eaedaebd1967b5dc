#include "autograd/kernels/reduce.hpp"

#include <numeric>

#include "tests/kernels/support.hpp"

using namespace pencil::kernels;
using namespace support;

namespace {

/// Calls f(numbers along the axis, where the first of them lies, how far apart they lie) for each place of
/// (outer, inner).
template <class T, class F>
void along(Size outer, Size axis, Size inner, const std::vector<T>& x, F f) {
  for (Size o = 0; o < outer; ++o)
    for (Size i = 0; i < inner; ++i) {
      std::vector<T> line;
      for (Size a = 0; a < axis; ++a) line.push_back(x[static_cast<std::size_t>((o * axis + a) * inner + i)]);
      f(line);
    }
}

template <class T>
std::vector<long double> naive_sum(Size outer, Size axis, Size inner, const std::vector<T>& x) {
  std::vector<long double> sums;
  along(outer, axis, inner, x,
        [&](const std::vector<T>& line) { sums.push_back(std::accumulate(line.begin(), line.end(), 0.0L)); });
  return sums;
}

template <class T>
void check_folds(Size outer, Size axis, Size inner) {
  CAPTURE(outer, axis, inner);
  const auto x = random_numbers<T>(outer * axis * inner, 1);
  auto y = filled<T>(outer * inner, 99);
  auto expected = naive_sum(outer, axis, inner, x);
  // Sums of random signs come near 0: the bound is for the sum of sizes.
  const double bound = tolerance<T> * std::sqrt(static_cast<double>(axis));
  const auto near = [&](const std::vector<T>& a, const std::vector<long double>& b) {
    bool all = a.size() == b.size();
    for (std::size_t i = 0; i < a.size(); ++i) all &= std::abs(static_cast<double>(a[i] - b[i])) <= bound;
    return all;
  };
  reduce_sum(outer, axis, inner, x.data(), y.data());
  CHECK(near(y, expected));
  reduce_mean(outer, axis, inner, x.data(), y.data());
  for (auto& sum : expected) sum /= static_cast<long double>(std::max<Size>(axis, 1));
  CHECK(near(y, expected));
  if (axis == 0) return;

  std::vector<T> largest, smallest;
  std::vector<std::int32_t> first_largest, first_smallest;
  along(outer, axis, inner, x, [&](const std::vector<T>& line) {
    const auto max = std::max_element(line.begin(), line.end()),
               min = std::min_element(line.begin(), line.end());
    largest.push_back(*max);
    smallest.push_back(*min);
    first_largest.push_back(static_cast<std::int32_t>(max - line.begin()));
    first_smallest.push_back(static_cast<std::int32_t>(min - line.begin()));
  });
  reduce_max(outer, axis, inner, x.data(), y.data());
  CHECK(y == largest);
  reduce_min(outer, axis, inner, x.data(), y.data());
  CHECK(y == smallest);
  std::vector<std::int32_t> where(y.size());
  argmax(outer, axis, inner, x.data(), where.data());
  CHECK(where == first_largest);
  argmin(outer, axis, inner, x.data(), where.data());
  CHECK(where == first_smallest);
}

}  // namespace

TEMPLATE_TEST_CASE("sums, means and extremes along an axis of any length", "[reduce]", float, double) {
  using T = TestType;
  for (Size axis = 0; axis <= 67; ++axis)
    for (const Size inner : {1, 2, 5, 16, 33}) check_folds<T>(3, axis, inner);
  for (Size inner = 1; inner <= 67; ++inner) check_folds<T>(2, 7, inner);
  check_folds<T>(0, 5, 3);
  check_folds<T>(3, 5, 0);
  check_folds<T>(1, 1, 1);
}

TEMPLATE_TEST_CASE("sums and extremes that are cut into blocks", "[reduce][threads]", float, double) {
  using T = TestType;
  check_folds<T>(1, 300001, 1);
  check_folds<T>(3, 9000, 1);
  check_folds<T>(7001, 5, 1);
  check_folds<T>(1, 5003, 3);
  check_folds<T>(2, 5003, 7);
  check_folds<T>(1, 1000, 100);
  check_folds<T>(1, 129, 2500);
  check_folds<T>(40, 3, 700);
}

TEMPLATE_TEST_CASE("reductions give the same bits for any number of threads", "[reduce][threads]", float,
                   double) {
  using T = TestType;
  const auto x = random_numbers<T>(300000, 1);
  const auto sums = [&](int team, Size outer, Size axis, Size inner) {
    const WithThreads with(team);
    auto y = filled<T>(outer * inner, 0);
    reduce_sum(outer, axis, inner, x.data(), y.data());
    return y;
  };
  CHECK(same_bits(sums(1, 1, 300000, 1), sums(4, 1, 300000, 1)));
  CHECK(same_bits(sums(1, 1, 3000, 100), sums(3, 1, 3000, 100)));
  CHECK(same_bits(sums(1, 10, 10000, 3), sums(3, 10, 10000, 3)));
}

TEST_CASE("a sum of ten million equal floats keeps its digits", "[reduce]") {
  const auto x = filled<float>(10'000'000, 0.1f);
  float y = 0;
  reduce_sum(1, 10'000'000, 1, x.data(), &y);
  CHECK(std::abs(y - 1e6f) <= 1);  // one by one: 1087937
  float columns[2];
  reduce_sum(1, 5'000'000, 2, x.data(), columns);
  CHECK(std::abs(columns[1] - 5e5f) <= 1);
}

TEMPLATE_TEST_CASE("extremes carry NaN, from any place", "[reduce]", float, double) {
  using T = TestType;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  for (const Size inner : {1, 20})
    for (Size axis = 1; axis <= 67; ++axis) {
      CAPTURE(inner, axis);
      auto x = random_numbers<T>(axis * inner, 1);
      const Size at = axis * 2 / 3;
      x[static_cast<std::size_t>(at * inner)] = nan;
      if (at > 0 && inner > 1) x[0] = nan;
      auto y = filled<T>(inner, 0);
      std::vector<std::int32_t> where(y.size());
      reduce_max(1, axis, inner, x.data(), y.data());
      CHECK(std::isnan(y[0]));
      reduce_min(1, axis, inner, x.data(), y.data());
      CHECK(std::isnan(y[0]));
      if (inner > 1) CHECK(!std::isnan(y[1]));
      argmax(1, axis, inner, x.data(), where.data());
      CHECK(where[0] == (inner > 1 ? 0 : at));
    }
  const std::vector<T> infinite{-std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()};
  T y = 0;
  reduce_max(1, 2, 1, infinite.data(), &y);
  CHECK(y == infinite[0]);
}

TEMPLATE_TEST_CASE("equal_shares divides evenly among ties", "[reduce]", float, double) {
  using T = TestType;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> x{T(.6), T(.6), T(.3), 1, 2, 3, nan, 5, nan};
  auto share = filled<T>(9, 9);
  std::vector<T> y(3);
  reduce_max(3, 3, 1, x.data(), y.data());
  equal_shares(3, 3, 1, x.data(), y.data(), share.data());
  CHECK(share == std::vector<T>{T(.5), T(.5), 0, 0, 0, 1, T(.5), 0, T(.5)});
  const std::vector<T> columns{4, 1, 4, 2, 0, 2, 4, 2};  // (4, 2)
  y.resize(2);
  reduce_max(1, 4, 2, columns.data(), y.data());
  equal_shares(1, 4, 2, columns.data(), y.data(), share.data());
  share.resize(8);
  const T third = T{1} / 3;
  CHECK(share == std::vector<T>{third, 0, third, third, 0, third, third, third});
}

TEMPLATE_TEST_CASE("argmax takes the first of equals", "[reduce]", float, double) {
  using T = TestType;
  const std::vector<T> x{1, 3, 3, 2, 2, 1};
  std::vector<std::int32_t> y(2);
  argmax(2, 3, 1, x.data(), y.data());
  CHECK(y == std::vector<std::int32_t>{1, 0});
}

TEMPLATE_TEST_CASE("cumulative_sum from either end", "[reduce]", float, double) {
  using T = TestType;
  for (const Size axis : {0, 1, 2, 9})
    for (const Size inner : {1, 3})
      for (const bool reverse : {false, true}) {
        CAPTURE(axis, inner, reverse);
        const auto x = random_numbers<T>(2 * axis * inner, 1);
        auto y = filled<T>(2 * axis * inner, 9);
        cumulative_sum(2, axis, inner, reverse, x.data(), y.data());
        std::vector<std::vector<T>> expected, lines;
        along(2, axis, inner, x, [&](std::vector<T> line) {
          if (reverse) std::reverse(line.begin(), line.end());
          std::partial_sum(line.begin(), line.end(), line.begin());
          if (reverse) std::reverse(line.begin(), line.end());
          expected.push_back(line);
        });
        along(2, axis, inner, y, [&](const std::vector<T>& line) { lines.push_back(line); });
        CHECK(lines == expected);
      }
}

TEMPLATE_TEST_CASE("sum_to undoes every broadcast", "[reduce][threads]", float, double) {
  using T = TestType;
  const auto check = [](const std::vector<Size>& from, const std::vector<Size>& to) {
    CAPTURE(from, to);
    const Size numbers = std::accumulate(from.begin(), from.end(), Size{1}, std::multiplies<>());
    const Size results = std::accumulate(to.begin(), to.end(), Size{1}, std::multiplies<>());
    const auto x = random_numbers<T>(numbers, 1);
    std::vector<long double> expected(static_cast<std::size_t>(results), 0);
    for (Size at = 0; at < numbers; ++at) {
      Size rest = at, place = 0, step = 1;
      for (std::size_t axis = from.size(); axis-- > 0;) {
        place += (to[axis] == 1 ? 0 : rest % from[axis]) * step;
        step *= to[axis];
        rest /= from[axis];
      }
      expected[static_cast<std::size_t>(place)] += static_cast<long double>(x[static_cast<std::size_t>(at)]);
    }
    auto y = filled<T>(results, 9);
    sum_to(static_cast<int>(from.size()), from.data(), to.data(), x.data(), y.data());
    CHECK(distance(y, expected) < 20 * tolerance<T>);
  };
  check({}, {});
  check({5}, {5});
  check({5}, {1});
  check({6400, 32}, {1, 32});
  check({6400, 32}, {6400, 1});
  check({64, 100, 32}, {1, 1, 32});
  check({7, 6, 5}, {1, 6, 1});
  check({7, 6, 5}, {7, 1, 5});
  check({7, 6, 5}, {1, 1, 1});
  check({3, 4, 5, 6}, {1, 4, 1, 6});
  check({3, 4, 5, 6}, {3, 1, 5, 1});
  check({2, 3, 2, 3, 2, 3, 2, 3}, {1, 3, 1, 3, 1, 3, 1, 3});
  check({1, 4, 1}, {1, 1, 1});
  check({0, 3}, {1, 3});
  check({0, 3}, {0, 1});
}
