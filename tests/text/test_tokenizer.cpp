#include <algorithm>
#include <clocale>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/random.hpp"
#include "nn/text/tokenizer.hpp"
#include "tests/catch.hpp"

using namespace pencil::nn::text;
using List = std::vector<std::string>;

namespace {

List words(std::string_view text) { return split_words(text).words; }
std::int64_t broken(std::string_view text) { return split_words(text).broken_bytes; }

/// The rules word for word: broken bytes and filtered characters become spaces, A–Z become a–z, then the text
/// is split at spaces.
Words naive(std::string text) {
  static const std::string filtered = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n";
  Words result;
  result.broken_bytes = replace_broken_bytes(text);
  for (char& c : text) {
    if (filtered.find(c) != std::string::npos) c = ' ';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) result.words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

}  // namespace

TEST_CASE("words are lower-cased and parted at the filtered characters") {
  CHECK(words("It's GOOD, isn't it?") == List{"it's", "good", "isn't", "it"});
  CHECK(words("a!b\"c#d$e%f&g(h)i*j+k,l-m.n/o:p;q<r=s>t?u@v[w\\x]y^z_0`1{2|3}4~5\t6\n7") ==
        List{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q",
             "r", "s", "t", "u", "v", "w", "x", "y", "z", "0", "1", "2", "3", "4", "5", "6", "7"});
  CHECK(words("10/10 -- Tron-2000") == List{"10", "10", "tron", "2000"});
  CHECK(words("'quoted'") == List{"'quoted'"});
}

TEST_CASE("only a space splits: other white space and control characters stay in words") {
  using namespace std::string_literals;
  CHECK(words("a\rb c\vd e\ff"s) == List{"a\rb", "c\vd", "e\ff"});
  CHECK(words("nul\0byte \x7f"s) == List{"nul\0byte"s, "\x7f"});
  CHECK(words("no\xC2\xA0split here") == List{"no\xC2\xA0split", "here"});
}

TEST_CASE("a text without words gives none") {
  CHECK(words("").empty());
  CHECK(words("!!! ... ???").empty());
  CHECK(words(" \t\n").empty());
  CHECK(words(std::string_view()).empty());
}

TEST_CASE("a line break of HTML is the word br unless breaks are dropped") {
  const std::string text = "Good.<br /><br />Bad<br/>end<BR>now <br   / > <bra> <b r>";
  CHECK(words(text) == List{"good", "br", "br", "bad", "br", "end", "br", "now", "br", "bra", "b", "r"});
  CHECK(split_words(text, {.drop_breaks = true}).words ==
        List{"good", "bad", "end", "now", "br", "bra", "b", "r"});
  // A tag cut off by the end of the text is no tag.
  for (const char* cut : {"x<br /", "x<br ", "x<br", "x <br      "})
    CHECK(split_words(cut, {.drop_breaks = true}).words == List{"x", "br"});
  CHECK(split_words("x<", {.drop_breaks = true}).words == List{"x"});
  CHECK(split_words("x<b", {.drop_breaks = true}).words == List{"x", "b"});
  CHECK(split_words("<br><br/><br />", {.drop_breaks = true}).words.empty());
}

TEST_CASE("well-formed UTF-8 stays in words byte for byte") {
  CHECK(words("Caf\u00e9 NA\u00cfVE") == List{"caf\u00e9", "na\u00cfve"});
  CHECK(words("\u201cGreat\u201d\u2014really") == List{"\u201cgreat\u201d\u2014really"});
  CHECK(words("I\u0130\u0131 stra\u00dfe STRASSE") == List{"i\u0130\u0131", "stra\u00dfe", "strasse"});
  CHECK(words("\U0001F50D\U0001F50D") == List{"\U0001F50D\U0001F50D"});
  CHECK(words("\U0010FFFF\uD7FF\uE000\u0080\u0800\U00010000").size() == 1);
  CHECK(broken("\U0010FFFF\uD7FF\uE000\u0080\u0800\U00010000") == 0);
}

TEST_CASE("broken UTF-8 parts words, is counted, and is never fatal") {
  struct Case {
    std::string text;
    List words;
    std::int64_t broken;
  };
  const Case cases[] = {
      {"\xE2\x80", {}, 2},                   // cut off
      {"\xF0\x9F", {}, 2},                   //
      {"a\xF0\x9F\x94", {"a"}, 3},           //
      {"\x80", {}, 1},                       // continuation without a lead
      {"\xC0\xAF", {}, 2},                   // overlong
      {"\xE0\x80\xAF", {}, 3},               //
      {"\xF0\x80\x80\xAF", {}, 4},           //
      {"\xED\xA0\x80", {}, 3},               // surrogate
      {"\xF4\x90\x80\x80", {}, 4},           // above U+10FFFF
      {"\xF5\x80\x80\x80\xFE\xFF", {}, 6},   //
      {"caf\xE9 noir", {"caf", "noir"}, 1},  // Latin-1
      {"good\x85"
       "bad",
       {"good", "bad"},
       1},                                              // Windows-1252
      {"\xE2\x80GOOD", {"good"}, 2},                    // the byte behind a broken one counts for itself
      {"\xE2\xC3\xA9t\xC3\xA9", {"\u00e9t\u00e9"}, 1},  //
      {"\xC3\x28", {}, 1},                              // lead, then '('
      {"x\x9D\xC2", {"x"}, 2},                          //
  };
  for (const Case& c : cases) {
    CAPTURE(c.text);
    CHECK(words(c.text) == c.words);
    CHECK(broken(c.text) == c.broken);
  }
}

TEST_CASE("the locale has no say") {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  const std::string text = "TITANIC \xC9\xCE \u0130I \u00c9";
  const Words expected = split_words(text);
  CHECK(expected.words == List{"titanic", "\u0130i", "\u00c9"});
  CHECK(expected.broken_bytes == 2);
  for (const char* name : {"tr_TR.UTF-8", "tr_TR", "de_DE.ISO-8859-1", "C.UTF-8", "C"}) {
    if (std::setlocale(LC_ALL, name) == nullptr) continue;  // not installed here
    CAPTURE(name);
    CHECK(split_words(text).words == expected.words);
    CHECK(split_words(text).broken_bytes == 2);
  }
  std::setlocale(LC_ALL, before.c_str());
}

TEST_CASE("words of any length are lower-cased") {
  for (std::size_t length = 1; length <= 200; ++length) {
    CAPTURE(length);
    const std::string text = std::string(length, 'A') + ' ' + std::string(length, 'b') + 'C';
    REQUIRE(words(text) == List{std::string(length, 'a'), std::string(length, 'b') + 'c'});
  }
  CHECK(words(std::string(3'000'000, 'Q')) == List{std::string(3'000'000, 'q')});
}

TEST_CASE("random bytes give the words of the plain rules") {
  pencil::Rng rng{20};
  const std::string_view pieces[] = {
      "a",      "B",      "zZ",         " ",    ".",    "'",        "\n",           "\r",  "<br />",
      "\u00e9", "\u201c", "\U0001F50D", "\x80", "\xC3", "\xE2\x80", "\xF0\x9F\x94", "\xFF"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (std::uint64_t n = rng.below(40); n > 0; --n) {
      if (rng.below(4) == 0)
        text += static_cast<char>(rng.below(256));
      else
        text += pieces[rng.below(std::size(pieces))];
    }
    CAPTURE(round, text);
    const Words fast = split_words(text);
    const Words plain = naive(text);
    REQUIRE(fast.words == plain.words);
    REQUIRE(fast.broken_bytes == plain.broken_bytes);
  }
}

TEST_CASE("broken bytes are replaced by as many spaces") {
  std::string text =
      "a\xE2\x80"
      "b\u00e9\xC3";
  CHECK(replace_broken_bytes(text) == 3);
  CHECK(text == "a  b\u00e9 ");
  CHECK(replace_broken_bytes(text) == 0);
  std::string empty;
  CHECK(replace_broken_bytes(empty) == 0);
}
