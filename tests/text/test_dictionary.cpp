#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "autograd/error.hpp"
#include "autograd/kernels/threads.hpp"
#include "autograd/random.hpp"
#include "nn/text/dictionary.hpp"
#include "tests/catch.hpp"

using namespace pencil::nn::text;
using List = std::vector<std::string>;

namespace {

WordCounter count(const List& texts) {
  return count_words(static_cast<std::int64_t>(texts.size()),
                     [&](std::int64_t i) -> std::string_view { return texts[static_cast<std::size_t>(i)]; });
}

}  // namespace

TEST_CASE("a word table numbers words in order of first sight") {
  WordTable table;
  CHECK(table.find("nolan") == WordTable::none);
  CHECK(table.find_or_add("nolan") == 0);
  CHECK(table.find_or_add("ended") == 1);
  CHECK(table.find_or_add("nolan") == 0);
  CHECK(table.size() == 2);
  CHECK(table.word(0) == "nolan");
  CHECK(table.word(1) == "ended");
  CHECK(table.find("end") == WordTable::none);
  CHECK(table.find("") == WordTable::none);
}

TEST_CASE("a word table agrees with std::map on random words") {
  pencil::Rng rng{21};
  WordTable table;
  std::map<std::string, std::int32_t> model;
  List order;
  for (int i = 0; i < 50'000; ++i) {
    std::string word(rng.below(4), ' ');
    for (char& c : word) c = static_cast<char>(rng.below(20));
    const auto place = static_cast<std::int32_t>(model.size());
    REQUIRE(table.find(word) == (model.contains(word) ? model[word] : WordTable::none));
    if (model.try_emplace(word, place).second) order.push_back(word);
    REQUIRE(table.find_or_add(word) == model[word]);
  }
  REQUIRE(table.size() == static_cast<std::int32_t>(order.size()));
  for (std::size_t i = 0; i < order.size(); ++i)
    REQUIRE(table.word(static_cast<std::int32_t>(i)) == order[i]);
}

TEST_CASE("words rank by count, ties by first sight") {
  const WordCounter counts = count({"b c a a", "d C b", "e"});
  CHECK(counts.distinct() == 5);
  CHECK(counts.total() == 8);
  CHECK(counts.count("c") == 2);
  CHECK(counts.count("e") == 1);
  CHECK(counts.count("C") == 0);
  CHECK(counts.commonest(9) == std::vector<std::string_view>{"b", "c", "a", "d", "e"});
  CHECK(counts.commonest(2) == std::vector<std::string_view>{"b", "c"});
  CHECK(counts.commonest(0).empty());
  CHECK(counts.commonest(-1).empty());
}

TEST_CASE("the vocabulary's size counts the padding row, and no word is lost to it") {
  const WordCounter counts = count({"b c a a", "d c b", "e"});
  const Dictionary three(counts, 4);
  CHECK(three.size() == 4);
  CHECK(three.words() == List{"b", "c", "a"});
  CHECK(three.number("b") == 1);
  CHECK(three.number("a") == 3);
  CHECK(three.number("d") == 0);
  CHECK(three.word(1) == "b");
  CHECK(three.word(3) == "a");

  const Dictionary all(counts, 6);
  CHECK(all.size() == 6);
  CHECK(all.number("e") == 5);
  CHECK(all.word(5) == "e");
  CHECK(Dictionary(counts, 10'000).words() == all.words());
  CHECK(Dictionary(counts, 2).words() == List{"b"});
  CHECK_THROWS_WITH(Dictionary(counts, 1), Says("[dictionary] vocabulary size is 1; need 2 or more"));
  CHECK_THROWS_WITH(Dictionary(counts, -5), Says("vocabulary size is -5"));
}

TEST_CASE("word and number are each other's inverse; other numbers throw") {
  const Dictionary dictionary(List{"the", "film", "aims"});
  for (std::int32_t number = 1; number < dictionary.size(); ++number)
    CHECK(dictionary.number(dictionary.word(number)) == number);
  CHECK_THROWS_WITH(dictionary.word(0), Says("no word has number 0; need 1 to 3 (0 is padding)"));
  CHECK_THROWS_WITH(dictionary.word(4), Says("no word has number 4"));
  CHECK_THROWS_WITH(dictionary.word(-1), Says("no word has number -1"));
  CHECK_THROWS_AS(dictionary.word(4), pencil::Error);
}

TEST_CASE("a dictionary is rebuilt from its words") {
  const Dictionary made(count({"b c a a", "d c b \u00e9t\u00e9", "e"}), 100);
  const Dictionary again(made.words());
  CHECK(again.words() == made.words());
  CHECK(again.size() == made.size());
  CHECK(again.number("\u00e9t\u00e9") == made.number("\u00e9t\u00e9"));
  CHECK_THROWS_WITH(Dictionary(List{"a", "b", "a"}), Says("the word 'a' has two numbers: 1 and 3"));
  CHECK_THROWS_WITH(Dictionary(List{"a", ""}), Says("word 2 is empty"));
}

TEST_CASE("an empty dictionary has the padding row only") {
  for (const Dictionary& dictionary :
       {Dictionary(), Dictionary(List{}), Dictionary(count({"", "!!!"}), 10)}) {
    CHECK(dictionary.size() == 1);
    CHECK(dictionary.number("a") == 0);
    CHECK(dictionary.words().empty());
  }
  CHECK(count_words(0, [](std::int64_t) -> std::string_view { throw "not called"; }).total() == 0);
}

TEST_CASE("counting gives the same order of words for any number of threads", "[threads]") {
  pencil::Rng rng{22};
  List texts(9000);
  WordCounter one_by_one;
  for (std::string& text : texts) {
    for (std::uint64_t n = rng.below(6); n > 0; --n)
      text.append("w").append(std::to_string(rng.below(5000))).append(" ");
    if (rng.below(10) == 0) text += "\x80";
    one_by_one.add(text);
  }
  const int before = pencil::kernels::threads();
  for (const int threads : {1, 2, 5}) {
    pencil::kernels::set_threads(threads);
    CAPTURE(threads);
    const WordCounter counts = count(texts);
    CHECK(counts.commonest(5000) == one_by_one.commonest(5000));
    CHECK(counts.total() == one_by_one.total());
    CHECK(counts.broken_bytes() == one_by_one.broken_bytes());
    CHECK(counts.count("w17") == one_by_one.count("w17"));
  }
  pencil::kernels::set_threads(before);
}
