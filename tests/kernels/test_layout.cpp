#include "autograd/kernels/layout.hpp"

#include <array>
#include <numeric>

#include "tests/kernels/support.hpp"

using namespace pencil::kernels;
using namespace support;

namespace {

template <class T>
std::vector<T> counted(Size count) {
  std::vector<T> x(static_cast<std::size_t>(count));
  std::iota(x.begin(), x.end(), T{1});
  return x;
}

Size product(const std::vector<Size>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), Size{1}, std::multiplies<>());
}

/// Calls f(index) for every index of an array of these sizes, in row-major order.
template <class F>
void for_each_index(const std::vector<Size>& sizes, F f) {
  std::vector<Size> index(sizes.size(), 0);
  for (Size i = product(sizes); i > 0; --i) {
    f(index);
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      if (++index[axis] < sizes[axis]) break;
      index[axis] = 0;
    }
  }
}

Size position(const std::vector<Size>& sizes, const std::vector<Size>& index) {
  Size at = 0;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) at = at * sizes[axis] + index[axis];
  return at;
}

template <class T>
void check_permute(const std::vector<Size>& sizes, const std::vector<int>& axes) {
  CAPTURE(sizes, axes);
  const auto x = counted<T>(product(sizes));
  std::vector<Size> out;
  for (const int axis : axes) out.push_back(sizes[static_cast<std::size_t>(axis)]);
  std::vector<T> expected;
  for_each_index(out, [&](const std::vector<Size>& index) {
    std::vector<Size> from(sizes.size());
    for (std::size_t axis = 0; axis < axes.size(); ++axis)
      from[static_cast<std::size_t>(axes[axis])] = index[axis];
    expected.push_back(x[static_cast<std::size_t>(position(sizes, from))]);
  });
  std::vector<T> y(x.size());
  permute(static_cast<int>(sizes.size()), sizes.data(), axes.data(), x.data(), y.data());
  CHECK(y == expected);
}

}  // namespace

TEMPLATE_TEST_CASE("permute moves every number to its place", "[layout][threads]", float, double,
                   std::int32_t) {
  using T = TestType;
  check_permute<T>({}, {});
  check_permute<T>({5}, {0});
  for (const Size rows : {0, 1, 2, 15, 16, 17, 67})
    for (const Size columns : {1, 3, 16, 33, 64}) {
      check_permute<T>({rows, columns}, {1, 0});
      check_permute<T>({3, rows, columns}, {0, 2, 1});
    }
  std::vector<int> axes{0, 1, 2, 3};
  do {
    check_permute<T>({3, 1, 4, 5}, axes);
    check_permute<T>({2, 17, 3, 18}, axes);
  } while (std::next_permutation(axes.begin(), axes.end()));
  check_permute<T>({2, 3, 2, 1, 3, 2, 2, 3}, {7, 5, 0, 3, 1, 2, 6, 4});
  check_permute<T>({300, 400}, {1, 0});  // several pieces of work
  check_permute<T>({40, 5, 60, 8}, {0, 2, 1, 3});
}

TEMPLATE_TEST_CASE("broadcast_to repeats axes of size 1", "[layout]", float, double, std::int32_t) {
  using T = TestType;
  const auto check = [](const std::vector<Size>& from, const std::vector<Size>& to) {
    CAPTURE(from, to);
    const auto x = counted<T>(product(from));
    std::vector<T> expected;
    for_each_index(to, [&](std::vector<Size> index) {
      for (std::size_t axis = 0; axis < from.size(); ++axis)
        if (from[axis] == 1) index[axis] = 0;
      expected.push_back(x[static_cast<std::size_t>(position(from, index))]);
    });
    std::vector<T> y(static_cast<std::size_t>(product(to)));
    broadcast_to(static_cast<int>(from.size()), from.data(), to.data(), x.data(), y.data());
    CHECK(y == expected);
  };
  check({}, {});
  check({1, 5}, {4, 5});
  check({4, 1}, {4, 5});
  check({1, 1}, {40, 50});
  check({2, 1, 3}, {2, 4, 3});
  check({1, 4, 1, 3}, {5, 4, 2, 3});
  check({1, 1}, {0, 3});
  check({1, 70}, {900, 70});
}

TEMPLATE_TEST_CASE("slice reads a range of every axis and its gradient puts it back", "[layout]", float,
                   double, std::int32_t) {
  using T = TestType;
  const auto check = [](const std::vector<Size>& sizes, const std::vector<Range>& ranges) {
    CAPTURE(sizes);
    const auto x = counted<T>(product(sizes));
    std::vector<Size> counts;
    for (const Range& range : ranges) counts.push_back(range.count);
    std::vector<T> expected;
    std::vector<T> expected_gradient(x.size(), 0);
    for_each_index(counts, [&](std::vector<Size> index) {
      for (std::size_t axis = 0; axis < sizes.size(); ++axis)
        index[axis] = ranges[axis].start + index[axis] * ranges[axis].step;
      const auto at = static_cast<std::size_t>(position(sizes, index));
      expected.push_back(x[at]);
      expected_gradient[at] = x[at];
    });
    std::vector<T> y(expected.size());
    slice(static_cast<int>(sizes.size()), sizes.data(), ranges.data(), x.data(), y.data());
    CHECK(y == expected);
    std::vector<T> dx(x.size(), 99);
    slice_gradient(static_cast<int>(sizes.size()), sizes.data(), ranges.data(), y.data(), dx.data());
    CHECK(dx == expected_gradient);
  };
  check({}, {});
  check({7}, {{2, 1, 3}});
  check({7}, {{6, -2, 4}});
  check({7}, {{3, 5, 0}});
  check({5, 6}, {{1, 1, 3}, {0, 1, 6}});
  check({5, 6}, {{0, 2, 3}, {5, -1, 6}});
  check({4, 5, 6}, {{1, 2, 2}, {3, 1, 1}, {1, 3, 2}});
  check({4, 5, 6}, {{0, 1, 4}, {2, 1, 1}, {0, 1, 6}});
  check({200, 300}, {{0, 1, 200}, {299, -1, 300}});
  check({0, 3}, {{0, 1, 0}, {0, 1, 3}});
}

TEMPLATE_TEST_CASE("write_strided is the opposite of read_strided", "[layout]", float, std::int32_t) {
  using T = TestType;
  // Every number of a (20, 18, 3) array once, in another order of axes: the tiled path, both ways.
  const Strided walk{3, {18, 3, 20}, {3, 1, 54}};
  const auto x = counted<T>(20 * 18 * 3);
  std::vector<T> there(x.size()), back(x.size());
  read_strided(walk, x.data(), there.data());
  CHECK(there != x);
  write_strided(walk, there.data(), back.data());
  CHECK(back == x);
  const Strided other{2, {60, 18}, {1, 60}};
  write_strided(other, x.data(), there.data());
  read_strided(other, there.data(), back.data());
  CHECK(there[1] == x[18]);
  CHECK(back == x);
}

TEMPLATE_TEST_CASE("concat lays parts side by side and split takes them apart", "[layout]", float, double,
                   std::int32_t) {
  using T = TestType;
  for (const Size outer : {0, 1, 3, 2000}) {
    const std::array<Size, 4> widths{2, 0, 33, 1};
    std::vector<std::vector<T>> parts;
    for (const Size width : widths) {
      parts.push_back(counted<T>(outer * width));
      for (T& x : parts.back()) x += static_cast<T>(1000 * parts.size());
    }
    std::vector<T> expected;
    for (Size row = 0; row < outer; ++row)
      for (std::size_t part = 0; part < parts.size(); ++part)
        for (Size i = 0; i < widths[part]; ++i)
          expected.push_back(parts[part][static_cast<std::size_t>(row * widths[part] + i)]);
    std::vector<const T*> from;
    for (const auto& part : parts) from.push_back(part.data());
    std::vector<T> y(expected.size());
    concat(outer, 4, from.data(), widths.data(), y.data());
    CHECK(y == expected);

    std::vector<std::vector<T>> back;
    for (const auto& part : parts) back.emplace_back(part.size());
    const std::vector<T*> to{back[0].data(), back[1].data(), nullptr, back[3].data()};
    split(outer, 4, y.data(), widths.data(), to.data());
    CHECK(back[0] == parts[0]);
    CHECK(back[3] == parts[3]);
  }
}
