#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "examples/imdb/hold_out.hpp"
#include "tests/catch.hpp"

using namespace pencil::imdb;

namespace {

/// Reviews "0", "1" … of which every third is hated.
std::vector<Review> numbered(int n) {
  std::vector<Review> reviews;
  for (int i = 0; i < n; ++i) reviews.push_back({std::to_string(i), i % 3 == 0 ? 0 : 1});
  return reviews;
}

std::vector<int> numbers(const std::vector<Review>& reviews) {
  std::vector<int> list;
  for (const Review& review : reviews) list.push_back(std::stoi(review.text));
  return list;
}

long hated(const std::vector<Review>& reviews) {
  return std::count_if(reviews.begin(), reviews.end(), [](const Review& r) { return r.label == 0; });
}

}  // namespace

TEST_CASE("a fifth is held out, the same share of each label, in order") {
  const HoldOut parts = hold_out(numbered(300), 0.2, 1);
  CHECK(parts.held_out.size() == 60);
  CHECK(parts.kept.size() == 240);
  CHECK(hated(parts.held_out) == 20);
  CHECK(hated(parts.kept) == 80);
  const auto kept = numbers(parts.kept);
  const auto held = numbers(parts.held_out);
  CHECK(std::is_sorted(kept.begin(), kept.end()));
  CHECK(std::is_sorted(held.begin(), held.end()));
  std::set<int> all(kept.begin(), kept.end());
  all.insert(held.begin(), held.end());
  CHECK(all.size() == 300);
  for (const Review& review : parts.held_out)
    CHECK(review.label == (std::stoi(review.text) % 3 == 0 ? 0 : 1));
}

TEST_CASE("the seed chooses what is held out") {
  const auto held = [](std::uint64_t seed) { return numbers(hold_out(numbered(100), 0.2, seed).held_out); };
  CHECK(held(1) == held(1));
  CHECK(held(1) != held(2));
  std::vector<int> times(30);
  constexpr int seeds = 3000;
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    for (const int i : numbers(hold_out(numbered(30), 0.2, seed).held_out))
      ++times[static_cast<std::size_t>(i)];
  for (const int n : times) CHECK(std::abs(n - seeds / 5) < 110);  // five standard deviations
}

TEST_CASE("small piles keep one review of a label on either side if they can") {
  HoldOut parts = hold_out(numbered(5), 0.01, 1);  // 2 hated, 3 liked
  CHECK(parts.held_out.size() == 2);
  CHECK(hated(parts.held_out) == 1);
  parts = hold_out(numbered(5), 0.99, 1);
  CHECK(parts.kept.size() == 2);
  CHECK(hated(parts.kept) == 1);
  parts = hold_out({{"a", 1}, {"b", 1}, {"c", 0}}, 0.5, 1);
  CHECK(parts.held_out.size() == 1);
  CHECK(hated(parts.kept) == 1);
}

TEST_CASE("too few reviews and fractions that are none are refused") {
  CHECK_THROWS_WITH(hold_out({{"a", 1}, {"b", 0}}, 0.2, 1), Says("[hold_out] 2 reviews are too few"));
  CHECK_THROWS_WITH(hold_out({}, 0.2, 1), Says("0 reviews are too few"));
  for (const double fraction : {0.0, 1.0, -0.1, 1.5, std::numeric_limits<double>::quiet_NaN()})
    CHECK_THROWS_WITH(hold_out(numbered(10), fraction, 1), Says("need more than 0 and less than 1"));
}
