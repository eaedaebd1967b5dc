#include "examples/imdb/pile.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/catch.hpp"

using namespace pencil::imdb;

namespace {

using Words = std::vector<std::string>;

/// Lower-case words; every mark becomes a word of its own.
Words split(std::string_view text) {
  std::string spaced;
  for (const char c : text) {
    const bool mark = c == '.' || c == ',' || c == ';';
    if (mark) spaced += ' ';
    spaced += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (mark) spaced += ' ';
  }
  std::istringstream in(spaced);
  Words words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

bool is_word(const std::string& word) { return word.find_first_of(".,;") == std::string::npos; }

Words words_of(std::string_view text) {
  Words words = split(text);
  words.erase(std::remove_if(words.begin(), words.end(), [](const auto& w) { return !is_word(w); }),
              words.end());
  return words;
}

/// The words without their order: all that a bag sees.
Words bag_of(std::string_view text) {
  Words words = words_of(text);
  std::sort(words.begin(), words.end());
  return words;
}

/// Whether the word is one of the list's, a text.
bool in(std::string_view list, std::string_view word) {
  const Words words = words_of(list);
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Judges a review of the pile as a person would who knows how few things are said there. It shares no word
/// list and no code with the grammar.
class Judge {
 public:
  /// What each clause that judges says: 1 liked, 0 hated.
  std::vector<int> judgements(std::string_view text) const {
    std::string rest;
    for (const std::string& word : split(text)) rest += word + ' ';
    std::vector<int> found;
    for (const auto& [phrase, label] : verdicts) {
      const std::size_t at = rest.find(phrase);
      if (at == std::string::npos) continue;
      rest.replace(at, phrase.size(), "");
      found.push_back(label);
    }
    Words clause;
    for (const std::string& word : split(rest + " .")) {
      if (is_word(word) && word != "and" && word != "while") {
        clause.push_back(word);
        continue;
      }
      const int says = judgement(clause);
      if (says != 0) found.push_back(says > 0 ? 1 : 0);
      clause.clear();
    }
    return found;
  }

  struct Pairing {
    std::string_view nouns, words, other_nouns, other_words;
  };
  static constexpr std::array<Pairing, 5> pairings{
      {{"chase race escape", "fast quick", "waltz sunset courtship", "slow leisurely"},
       {"battle storm riot", "loud noisy", "prayer confession lullaby", "quiet hushed"},
       {"villain assassin tyrant", "cold cruel", "romance friendship reunion", "warm gentle"},
       {"nightmare dungeon murder", "dark gloomy", "picnic holiday wedding", "bright sunny"},
       {"clown prank parody", "laugh smile", "funeral farewell tragedy", "cry weep"}}};

 private:
  /// 1 praise, -1 blame, 0 neither.
  static int judgement(const Words& clause) {
    int says = 0, turn = 1;
    for (const std::string& word : clause) {
      if (in("not never hardly means", word)) turn = -turn;
      if (in("good fresh clever charming lively memorable moving convincing lovely graceful amusing "
             "interesting "
             "wonderful splendid brilliant superb delightful",
             word))
        says = 1;
      if (in("bad dull stale boring lazy clumsy weak tiresome dreary forgettable confusing silly awful "
             "terrible "
             "dreadful unbearable dismal",
             word))
        says = -1;
      for (const Pairing& p : pairings) {
        const bool one = in(p.words, word), other = in(p.other_words, word);
        if (one || other) says = in(one ? p.nouns : p.other_nouns, clause.at(1)) ? 1 : -1;
      }
    }
    return says * turn;
  }

  const std::vector<std::pair<std::string, int>> verdicts{{"i would see it again", 1},
                                                          {"i would not see it again", 0},
                                                          {"it was worth the ticket", 1},
                                                          {"it was not worth the ticket", 0},
                                                          {"do go and see it", 1},
                                                          {"do not go and see it", 0},
                                                          {"i enjoyed every minute", 1},
                                                          {"i did not enjoy one minute", 0},
                                                          {"i was never bored", 1},
                                                          {"i was always bored", 0},
                                                          {"i loved it", 1},
                                                          {"i hated it", 0}};
};

const Pile& pile() {
  static const Pile made = built_in_pile();
  return made;
}

std::vector<Review> all(const Pile& p) {
  std::vector<Review> reviews = p.study;
  reviews.insert(reviews.end(), p.exam.begin(), p.exam.end());
  return reviews;
}

/// FNV-1a, 64 bits, over labels and texts.
std::uint64_t fingerprint(const Pile& p) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3u; };
  for (const Review& r : all(p)) {
    add(static_cast<unsigned char>('0' + r.label));
    for (const char c : r.text) add(static_cast<unsigned char>(c));
    add('\n');
  }
  return hash;
}

}  // namespace

TEST_CASE("pile: a seed gives the same bytes on every machine") {
  CHECK(fingerprint(pile()) == 0x75c85aaf1ca9d0dbu);
  CHECK(fingerprint(built_in_pile(1)) == fingerprint(pile()));
  CHECK(fingerprint(built_in_pile(2)) != fingerprint(pile()));
}

TEST_CASE("pile: sizes, liked and hated by turns, short plain sentences") {
  CHECK(pile().study.size() == 6000);
  CHECK(pile().exam.size() == 1000);
  for (const std::vector<Review>& part : {pile().study, pile().exam}) {
    for (std::size_t i = 0; i < part.size(); ++i) {
      INFO(part[i].text);
      REQUIRE(part[i].label == (i % 2 == 0 ? 1 : 0));
      const std::size_t count = words_of(part[i].text).size();
      REQUIRE(count >= 4);
      REQUIRE(count <= 28);
      REQUIRE(count <= static_cast<std::size_t>(pile_settings.max_len));
      REQUIRE(part[i].text.back() == '.');
      REQUIRE((part[i].text.front() >= 'A' && part[i].text.front() <= 'Z'));
      REQUIRE(part[i].text.find("  ") == std::string::npos);
    }
  }
}

TEST_CASE("pile: no two reviews have the same words in the same order") {
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    const Pile made = built_in_pile(seed);
    std::set<Words> seen;
    for (const Review& r : all(made)) {
      INFO("seed " << seed << ": " << r.text);
      REQUIRE(seen.insert(words_of(r.text)).second);
    }
  }
}

TEST_CASE("pile: every clause that judges agrees with the label") {
  const Judge judge;
  std::set<std::size_t> clauses;
  for (const Review& r : all(pile())) {
    INFO(r.label << ' ' << r.text);
    const std::vector<int> judgements = judge.judgements(r.text);
    REQUIRE_FALSE(judgements.empty());
    for (const int says : judgements) REQUIRE(says == r.label);
    clauses.insert(judgements.size());
  }
  CHECK(clauses == std::set<std::size_t>{1, 2});
}

TEST_CASE("pile: half of the reviews have a twin of the same words with the other label") {
  for (const std::vector<Review>& part : {pile().study, pile().exam}) {
    std::size_t twins = 0;
    for (std::size_t i = 0; i < part.size(); i += 2)
      if (bag_of(part[i].text) == bag_of(part[i + 1].text)) twins += 2;
    CHECK(twins == part.size() / 2);
  }
}

TEST_CASE("pile: who is blind to order is right on three quarters at most") {
  for (const std::vector<Review>& part : {pile().study, pile().exam}) {
    std::map<Words, std::array<std::size_t, 2>> labels;
    for (const Review& r : part) ++labels[bag_of(r.text)][static_cast<std::size_t>(r.label)];
    std::size_t right = 0;
    for (const auto& [bag, count] : labels) right += std::max(count[0], count[1]);
    CHECK(right <= part.size() * 3 / 4);
    CHECK(right > part.size() * 7 / 10);
  }
}

TEST_CASE("pile: words that judge together are praise here and blame there") {
  std::map<std::string, std::set<int>> labels;
  for (const Review& r : pile().study)
    for (const std::string& word : words_of(r.text)) labels[word].insert(r.label);
  for (const Judge::Pairing& p : Judge::pairings)
    for (const std::string_view list : {p.nouns, p.words, p.other_nouns, p.other_words})
      for (const std::string& word : words_of(list)) {
        INFO(word);
        CHECK(labels[word] == std::set<int>{0, 1});
      }
}

TEST_CASE("pile: the samples are new to the model, their words are not") {
  std::set<std::string> dictionary;
  std::set<Words> seen;
  for (const Review& r : all(pile())) seen.insert(words_of(r.text));
  for (const Review& r : pile().study)
    for (const std::string& word : words_of(r.text)) dictionary.insert(word);

  const Judge judge;
  const std::vector<Review> samples{{std::string(liked_sample), 1},
                                    {std::string(hated_sample), 0},
                                    {std::string(not_sample), 1},
                                    {std::string(short_sample), 0}};
  for (const Review& sample : samples) {
    INFO(sample.text);
    CHECK_FALSE(seen.contains(words_of(sample.text)));
    for (const std::string& word : words_of(sample.text)) CHECK(dictionary.contains(word));
    for (const int says : judge.judgements(sample.text)) CHECK(says == sample.label);
    CHECK_FALSE(judge.judgements(sample.text).empty());
  }
  CHECK(words_of(short_sample).size() <= 8);
  CHECK(bag_of(not_sample) == bag_of("the acting was not good and the plot was boring"));
}

TEST_CASE("pile: the notice says that it is synthetic") {
  CHECK_THAT(std::string(pile_notice), Says("synthetic"));
}
