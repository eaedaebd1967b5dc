#include <numeric>
#include <vector>

#include "nn/text/padding.hpp"
#include "tests/catch.hpp"

using namespace pencil::nn::text;
using Numbers = std::vector<std::int32_t>;

namespace {

constexpr Padding post_post{.fill = End::post, .chop = End::post};
constexpr Padding post_pre{.fill = End::post, .chop = End::pre};
constexpr Padding pre_post{.fill = End::pre, .chop = End::post};
constexpr Padding pre_pre{.fill = End::pre, .chop = End::pre};

Numbers count_to(std::int32_t n) {
  Numbers numbers(static_cast<std::size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 1);
  return numbers;
}

/// first, first + 1 … last, with zeros before and behind.
Numbers row(int zeros_before, std::int32_t first, std::int32_t last, int zeros_behind) {
  Numbers numbers(static_cast<std::size_t>(zeros_before), 0);
  for (std::int32_t i = first; i <= last; ++i) numbers.push_back(i);
  numbers.resize(numbers.size() + static_cast<std::size_t>(zeros_behind), 0);
  return numbers;
}

}  // namespace

TEST_CASE("lists are filled and chopped at the ends that Keras would") {
  CHECK(pad(Numbers{1, 2}, 4, post_post) == Numbers{1, 2, 0, 0});
  CHECK(pad(Numbers{1, 2}, 4, post_pre) == Numbers{1, 2, 0, 0});
  CHECK(pad(Numbers{1, 2}, 4, pre_post) == Numbers{0, 0, 1, 2});
  CHECK(pad(Numbers{1, 2}, 4, pre_pre) == Numbers{0, 0, 1, 2});
  CHECK(pad(Numbers{1, 2, 3, 4, 5}, 2, post_post) == Numbers{1, 2});
  CHECK(pad(Numbers{1, 2, 3, 4, 5}, 2, post_pre) == Numbers{4, 5});
  CHECK(pad(Numbers{1, 2, 3, 4, 5}, 2, pre_post) == Numbers{1, 2});
  CHECK(pad(Numbers{1, 2, 3, 4, 5}, 2, pre_pre) == Numbers{4, 5});
}

TEST_CASE("lists of 99, 100, 101 and 1000 numbers in rows of 100") {
  for (const Padding& padding : {post_post, post_pre})
    CHECK(pad(count_to(99), 100, padding) == row(0, 1, 99, 1));
  for (const Padding& padding : {pre_post, pre_pre})
    CHECK(pad(count_to(99), 100, padding) == row(1, 1, 99, 0));
  for (const Padding& padding : {post_post, post_pre, pre_post, pre_pre})
    CHECK(pad(count_to(100), 100, padding) == count_to(100));
  for (const std::int32_t n : {101, 1000}) {
    CHECK(pad(count_to(n), 100, post_post) == row(0, 1, 100, 0));
    CHECK(pad(count_to(n), 100, pre_post) == row(0, 1, 100, 0));
    CHECK(pad(count_to(n), 100, post_pre) == row(0, n - 99, n, 0));
    CHECK(pad(count_to(n), 100, pre_pre) == row(0, n - 99, n, 0));
  }
}

TEST_CASE("keep_first is the document's padding, keep_last Keras's own default") {
  CHECK(pad(count_to(3), 2) == Numbers{1, 2});
  CHECK(pad(count_to(3), 4) == Numbers{1, 2, 3, 0});
  CHECK(pad(count_to(3), 2, keep_first) == Numbers{1, 2});
  CHECK(pad(count_to(3), 4, keep_first) == Numbers{1, 2, 3, 0});
  CHECK(pad(count_to(3), 2, keep_last) == Numbers{2, 3});
  CHECK(pad(count_to(3), 4, keep_last) == Numbers{0, 1, 2, 3});
}

TEST_CASE("an empty list is all padding, of the value asked for") {
  CHECK(pad(Numbers{}, 3) == Numbers{0, 0, 0});
  CHECK(pad(Numbers{}, 2, {.fill = End::pre, .value = 7}) == Numbers{7, 7});
  CHECK(pad(Numbers{1}, 3, {.value = -1}) == Numbers{1, -1, -1});
}

TEST_CASE("a row of length 0 is refused") {
  CHECK_THROWS_WITH(pad(Numbers{1, 2}, 0), Says("[pad] length is 0; need 1 or more"));
  CHECK_THROWS_WITH(pad(Numbers{1, 2}, -3, keep_last), Says("[pad] length is -3"));
  CHECK_THROWS_WITH(pad_into({}, Numbers{1, 2}), Says("[pad] length is 0"));
}
