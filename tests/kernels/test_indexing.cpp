#include "autograd/kernels/indexing.hpp"

#include "tests/kernels/support.hpp"

using namespace pencil::kernels;
using namespace support;

namespace {

template <class T>
std::vector<T> naive_scatter(const std::vector<T>& dy, const std::vector<std::int32_t>& ids, Size width,
                             Size rows, Size skip) {
  auto table = filled<T>(rows * width, 0);
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (Size w = 0; w < width && ids[i] != skip; ++w)
      table[static_cast<std::size_t>(ids[i] * width + w)] +=
          dy[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(w)];
  return table;
}

}  // namespace

TEST_CASE("find_outside gives the first id out of range", "[indexing]") {
  std::vector<std::int32_t> ids = random_ids(5000, 10, 1);
  CHECK(find_outside(ids.data(), 5000, 10) == -1);
  CHECK(find_outside(ids.data(), 0, 0) == -1);
  ids[4999] = 10;
  CHECK(find_outside(ids.data(), 5000, 10) == 4999);
  ids[3000] = -1;
  CHECK(find_outside(ids.data(), 5000, 10) == 3000);
  ids[0] = std::numeric_limits<std::int32_t>::min();
  CHECK(find_outside(ids.data(), 5000, 10) == 0);
}

TEMPLATE_TEST_CASE("gather_rows reads rows and scatter_add_rows adds them up", "[indexing][threads]", float,
                   double) {
  using T = TestType;
  for (const Size n : {0, 1, 7, 3000})
    for (const Size width : {0, 1, 5, 32, 67})
      for (const std::int32_t rows : {1, 10, 4001}) {
        CAPTURE(n, width, rows);
        const auto ids = random_ids(n, rows, 1);
        const auto table = random_numbers<T>(rows * width, 2);
        auto y = filled<T>(n * width, 9);
        gather_rows(table.data(), ids.data(), n, width, y.data());
        bool same = true;
        for (Size i = 0; i < n * width; ++i)
          same &=
              y[static_cast<std::size_t>(i)] ==
              table[static_cast<std::size_t>(ids[static_cast<std::size_t>(i / width)] * width + i % width)];
        CHECK(same);
        for (const Size skip : {-1, 0}) {
          // The same order of additions as the plain loop: equal to the bit, on any number of threads.
          const auto expected = naive_scatter(y, ids, width, rows, skip);
          for (const int team : {1, 3}) {
            const WithThreads with(team);
            auto dtable = filled<T>(rows * width, 9);
            scatter_add_rows(y.data(), ids.data(), n, width, rows, dtable.data(), skip);
            CHECK(same_bits(dtable, expected));
          }
        }
      }
  scatter_add_rows<T>(nullptr, nullptr, 0, 3, 0, nullptr);  // no rows at all
}

TEMPLATE_TEST_CASE("the skipped row's gradient is exactly 0, small and large", "[indexing]", float, double) {
  using T = TestType;
  for (const Size n : {769, 256 * 3 * 7}) {
    const std::vector<std::int32_t> ids(static_cast<std::size_t>(n), 0);
    const auto dy = filled<T>(n, std::numeric_limits<T>::quiet_NaN());
    auto dtable = filled<T>(10, 5);
    scatter_add_rows(dy.data(), ids.data(), n, 1, 10, dtable.data(), 0);
    CHECK(dtable == filled<T>(10, 0));
  }
}

TEMPLATE_TEST_CASE("take_along_axis and its gradient", "[indexing]", float, double) {
  using T = TestType;
  for (const Size outer : {1, 3, 700})
    for (const Size inner : {1, 4})
      for (const Size taken : {0, 1, 5}) {
        constexpr Size axis = 6;
        CAPTURE(outer, inner, taken);
        const auto ids = random_ids(outer * taken * inner, axis, 1);
        const auto x = random_numbers<T>(outer * axis * inner, 2);
        auto y = filled<T>(outer * taken * inner, 9);
        auto expected_dx = filled<T>(outer * axis * inner, 0);
        take_along_axis(outer, axis, inner, taken, x.data(), ids.data(), y.data());
        bool same = true;
        for (Size at = 0; at < outer * taken * inner; ++at) {
          const Size o = at / (taken * inner), i = at % inner;
          const auto from =
              static_cast<std::size_t>((o * axis + ids[static_cast<std::size_t>(at)]) * inner + i);
          same &= y[static_cast<std::size_t>(at)] == x[from];
          expected_dx[from] += y[static_cast<std::size_t>(at)];
        }
        CHECK(same);
        auto dx = filled<T>(outer * axis * inner, 9);
        take_along_axis_gradient(outer, axis, inner, taken, y.data(), ids.data(), dx.data());
        CHECK(dx == expected_dx);
      }
}

TEMPLATE_TEST_CASE("one_hot", "[indexing]", float, double, std::int32_t) {
  using T = TestType;
  const std::vector<std::int32_t> ids{2, 0, 1};
  auto y = filled<T>(9, 7);
  one_hot(ids.data(), 3, 3, y.data());
  CHECK(y == std::vector<T>{0, 0, 1, 1, 0, 0, 0, 1, 0});
  one_hot<T>(nullptr, 0, 3, nullptr);
}

TEST_CASE("casts between float, double and int32", "[indexing]") {
  const std::vector<double> x{1.5, -0.1, 1e300, 16777217};
  std::vector<float> y(4);
  cast(x.data(), 4, y.data());
  CHECK(y == std::vector<float>{1.5f, -0.1f, std::numeric_limits<float>::infinity(), 16777216.0f});
  const std::vector<std::int32_t> whole{-7, 2147483647};
  std::vector<double> z(2);
  cast(whole.data(), 2, z.data());
  CHECK(z == std::vector<double>{-7, 2147483647});
}

TEST_CASE("cast_to_int truncates, and says where it cannot", "[indexing][threads]") {
  const std::vector<double> edge{-2147483648.9, 2147483647.9, -0.9, 2.5};
  std::vector<std::int32_t> y(4);
  CHECK(cast_to_int(edge.data(), 4, y.data()) == -1);
  CHECK(y == std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min(), 2147483647, 0, 2});
  for (const double bad : {2147483648.0, -2147483649.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    const std::vector<double> x{1, bad, bad};
    CHECK(cast_to_int(x.data(), 3, y.data()) == 1);
    CHECK(y[1] == 0);
  }
  const std::vector<float> beyond{2147483648.0f};
  CHECK(cast_to_int(beyond.data(), 1, y.data()) == 0);
  auto many = filled<float>(200000, 3);
  many[70000] = many[150000] = std::numeric_limits<float>::infinity();
  std::vector<std::int32_t> out(many.size());
  const WithThreads with(3);
  CHECK(cast_to_int(many.data(), 200000, out.data()) == 70000);
}

TEMPLATE_TEST_CASE("masked_mean leaves out masked positions, NaN included", "[indexing]", float, double) {
  using T = TestType;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  const std::vector<T> x{1, 2, 3, 4, nan, nan, 5, 6, nan, 1, nan, nan};  // (2, 3, 2)
  const std::vector<std::int32_t> mask{1, 7, 0, 0, 0, 0};
  auto y = filled<T>(4, 9);
  masked_mean(2, 3, 2, x.data(), mask.data(), y.data());
  CHECK(y == std::vector<T>{2, 3, 0, 0});
  const std::vector<T> dy{4, 6, nan, nan};
  auto dx = filled<T>(12, 9);
  masked_mean_gradient(2, 3, 2, dy.data(), mask.data(), dx.data());
  CHECK(dx == std::vector<T>{2, 3, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0});
  masked_mean(2, 0, 2, x.data(), mask.data(), y.data());  // no positions at all
  CHECK(y == filled<T>(4, 0));
}
