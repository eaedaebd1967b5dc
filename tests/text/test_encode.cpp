#include <limits>
#include <string>
#include <vector>

#include "autograd/kernels/threads.hpp"
#include "nn/text/text.hpp"
#include "tests/catch.hpp"

using namespace pencil::nn::text;
using Numbers = std::vector<std::int32_t>;
using List = std::vector<std::string>;

namespace {

const Dictionary& dictionary() {
  static const Dictionary made(List{"the", "film", "good", "br", "not"});
  return made;
}

TextAt at(const List& texts) {
  return [&texts](std::int64_t i) -> std::string_view { return texts[static_cast<std::size_t>(i)]; };
}

}  // namespace

TEST_CASE("unknown words leave no gap") {
  CHECK(token_numbers(dictionary(), "The dull film: NOT good!") == Numbers{1, 2, 5, 3});
  CHECK(token_numbers(dictionary(), "").empty());
  CHECK(token_numbers(dictionary(), "!!!").empty());
  CHECK(token_numbers(dictionary(), "all words unheard of").empty());
  CHECK(token_numbers(dictionary(), "good<br />film") == Numbers{3, 4, 2});
  CHECK(token_numbers(dictionary(), "good<br />film", {.drop_breaks = true}) == Numbers{3, 2});
}

TEST_CASE("unknown words are dropped before a text is chopped") {
  const List texts{"x x x the x film x good", "", "not", "y"};
  const TokenRows rows = token_rows(dictionary(), 4, at(texts), 2);
  CHECK(rows.rows == 4);
  CHECK(rows.length == 2);
  CHECK(rows.numbers == Numbers{1, 2, 0, 0, 5, 0, 0, 0});
  CHECK(rows.words == 10);
  CHECK(rows.unknown == 6);
  CHECK(rows.chopped == 1);
  CHECK(rows.broken_bytes == 0);
  CHECK(token_rows(dictionary(), 4, at(texts), 2, keep_last).numbers == Numbers{2, 3, 0, 0, 0, 5, 0, 0});
}

TEST_CASE("rows come out alike for any number of threads", "[threads]") {
  List texts;
  for (int i = 0; i < 3000; ++i)
    texts.push_back(std::string(i % 7 == 0 ? "good\x80" : "film ") + (i % 3 == 0 ? " not the" : " x"));
  const auto n = static_cast<std::int64_t>(texts.size());
  const int before = pencil::kernels::threads();
  pencil::kernels::set_threads(1);
  const TokenRows one = token_rows(dictionary(), n, at(texts), 3);
  for (std::int64_t i = 0; i < n; ++i) {
    const auto row = one.numbers.begin() + 3 * i;
    REQUIRE(Numbers(row, row + 3) == pad(token_numbers(dictionary(), texts[static_cast<std::size_t>(i)]), 3));
  }
  for (const int threads : {2, 5}) {
    pencil::kernels::set_threads(threads);
    const TokenRows many = token_rows(dictionary(), n, at(texts), 3);
    CHECK(many.numbers == one.numbers);
    CHECK(many.words == one.words);
    CHECK(many.unknown == one.unknown);
    CHECK(many.broken_bytes == 429);
  }
  pencil::kernels::set_threads(before);
}

TEST_CASE("no texts make no rows; impossible sizes are refused") {
  CHECK(token_rows(dictionary(), 0, at({}), 5).numbers.empty());
  CHECK_THROWS_WITH(token_rows(dictionary(), 0, at({}), 0), Says("[token_rows] length is 0; need 1 or more"));
  CHECK_THROWS_WITH(token_rows(dictionary(), -1, at({}), 5), Says("number of texts is -1"));
  CHECK_THROWS_WITH(token_rows(dictionary(), 4, at({}), std::numeric_limits<std::int64_t>::max() / 8),
                    Says("4 rows of 1152921504606846975 tokens do not fit in memory"));
}
