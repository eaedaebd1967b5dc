#include "examples/imdb/pile.hpp"

#include <array>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <utility>

namespace pencil::imdb {
namespace {

template <std::size_t n>
using List = std::array<std::string_view, n>;
using Words = std::span<const std::string_view>;

/// SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014). Every draw stands
/// in a statement of its own: C++ leaves the order of two draws in one expression to the compiler.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(((next() >> 32) * n) >> 32); }
  bool percent(std::size_t p) { return below(100) < p; }

  template <class Choices>
  auto from(const Choices& choices) {
    return choices[below(choices.size())];
  }

 private:
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

// ---- words that judge alone

struct Subject {
  std::string_view noun, verb;
};
constexpr std::array<Subject, 16> subjects{{{"plot", "was"},
                                            {"script", "was"},
                                            {"ending", "was"},
                                            {"acting", "was"},
                                            {"music", "was"},
                                            {"pacing", "was"},
                                            {"cast", "was"},
                                            {"opening", "was"},
                                            {"editing", "was"},
                                            {"dialogue", "was"},
                                            {"jokes", "were"},
                                            {"songs", "were"},
                                            {"actors", "were"},
                                            {"effects", "were"},
                                            {"dances", "were"},
                                            {"twists", "were"}}};

/// Words that also judge when negated: "not memorable" is blame, "not forgettable" praise.
constexpr List<12> praise{"good",   "fresh",      "clever", "charming", "lively",  "memorable",
                          "moving", "convincing", "lovely", "graceful", "amusing", "interesting"};
constexpr List<12> blame{"bad",  "dull",     "stale",  "boring",      "lazy",      "clumsy",
                         "weak", "tiresome", "dreary", "forgettable", "confusing", "silly"};

/// Words that judge too strongly to be negated by anyone.
constexpr List<5> high_praise{"wonderful", "splendid", "brilliant", "superb", "delightful"};
constexpr List<5> heavy_blame{"awful", "terrible", "dreadful", "unbearable", "dismal"};

/// What turns a judgement round: words before it and words after it.
struct Negation {
  std::string_view before, after;
};
constexpr std::array<Negation, 8> negations{{{"not", ""},
                                             {"not", ""},
                                             {"not", ""},
                                             {"not", "at all"},
                                             {"never", ""},
                                             {"never", "for a moment"},
                                             {"hardly", ""},
                                             {"by no means", ""}}};

// ---- words that judge only together

constexpr List<3> chases{"chase", "race", "escape"}, waltzes{"waltz", "sunset", "courtship"};
constexpr List<2> fast{"fast", "quick"}, slow{"slow", "leisurely"};
constexpr List<3> battles{"battle", "storm", "riot"}, prayers{"prayer", "confession", "lullaby"};
constexpr List<2> loud{"loud", "noisy"}, quiet{"quiet", "hushed"};
constexpr List<3> villains{"villain", "assassin", "tyrant"}, romances{"romance", "friendship", "reunion"};
constexpr List<2> cold{"cold", "cruel"}, warm{"warm", "gentle"};
constexpr List<3> nightmares{"nightmare", "dungeon", "murder"}, picnics{"picnic", "holiday", "wedding"};
constexpr List<2> dark{"dark", "gloomy"}, bright{"bright", "sunny"};
constexpr List<3> clowns{"clown", "prank", "parody"}, funerals{"funeral", "farewell", "tragedy"};
constexpr List<2> laugh{"laugh", "smile"}, cry{"cry", "weep"};

/// A word of `suits` is praise for its own nouns and blame for those of the other side.
struct Side {
  Words nouns, suits;
};
struct Pairing {
  std::string_view verb;
  Side one, other;
};
constexpr std::array<Pairing, 5> pairings{{{"was", {chases, fast}, {waltzes, slow}},
                                           {"was", {battles, loud}, {prayers, quiet}},
                                           {"was", {villains, cold}, {romances, warm}},
                                           {"was", {nightmares, dark}, {picnics, bright}},
                                           {"made me", {clowns, laugh}, {funerals, cry}}}};

// ---- whole sentences

constexpr List<6> good_verdicts{"I would see it again",   "it was worth the ticket", "do go and see it",
                                "I enjoyed every minute", "I was never bored",       "I loved it"};
constexpr List<6> bad_verdicts{"I would not see it again", "it was not worth the ticket",
                               "do not go and see it",     "I did not enjoy one minute",
                               "I was always bored",       "I hated it"};

/// Sentences that judge nothing, some with a "not" or a "never" of their own.
constexpr List<16> openings{
    "We saw it last night.",       "My sister picked this one.",  "We watched it on a rainy Sunday.",
    "I have not read the book.",   "It runs for two hours.",      "My friends could not come.",
    "I never saw the first part.", "It opened here on Friday.",   "This is a film about two brothers.",
    "It is set in a small town.",  "The hall was not full.",      "We sat in the last row.",
    "It was shot in one summer.",  "I do not know the director.", "A film from the north.",
    "We had no popcorn this time."};
constexpr List<10> closings{"That is my view.",
                            "The rest you can guess.",
                            "My brother agreed.",
                            "So much for that.",
                            "We walked home in the rain.",
                            "I will not say more.",
                            "We talked about it later.",
                            "You will not hear more from me.",
                            "My sister said so too.",
                            "That is all."};

constexpr List<5> joints{" and ", ", and ", ", while ", "; ", ". "};
constexpr List<3> verdict_joints{" and ", ", and ", ". "};

// ---- clauses

std::string sentence(std::initializer_list<std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (word.empty()) continue;
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

std::string judged(const Subject& s, std::string_view word, const Negation& n = {}) {
  return sentence({"the", s.noun, s.verb, n.before, word, n.after});
}

/// The same thing said to praise and to blame.
struct Both {
  std::string liked, hated;
};

Both joined(const Both& first, std::string_view joint, const Both& second) {
  const std::string between(joint);
  return {first.liked + between + second.liked, first.hated + between + second.hated};
}

Both plain(Draw& draw) {
  const Subject s = draw.from(subjects);
  if (draw.percent(50)) {
    const std::string_view good = draw.from(high_praise);
    const std::string_view bad = draw.from(heavy_blame);
    return {judged(s, good), judged(s, bad)};
  }
  const std::string_view good = draw.from(praise);
  const std::string_view bad = draw.from(blame);
  return {judged(s, good), judged(s, bad)};
}

Both negated(Draw& draw) {
  const Subject s = draw.from(subjects);
  const std::string_view good = draw.from(praise);
  const std::string_view bad = draw.from(blame);
  const Negation n = draw.from(negations);
  return {judged(s, bad, n), judged(s, good, n)};
}

/// The first side speaks three times as often as the other. That gives a word a leaning of its own to learn
/// first, as words have outside; with equal shares no word means anything until all do, and training idles at
/// chance for tens of epochs.
Both together(Draw& draw) {
  const Pairing& p = pairings[draw.below(pairings.size())];
  const bool first = draw.percent(75);
  const Side& own = first ? p.one : p.other;
  const Side& foreign = first ? p.other : p.one;
  const std::string_view noun = draw.from(own.nouns);
  const std::string_view fits = draw.from(own.suits);
  const std::string_view jars = draw.from(foreign.suits);
  return {sentence({"the", noun, p.verb, fits}), sentence({"the", noun, p.verb, jars})};
}

Both verdict(Draw& draw) {
  const std::string_view good = draw.from(good_verdicts);
  const std::string_view bad = draw.from(bad_verdicts);
  return {std::string(good), std::string(bad)};
}

/// Two clauses of the same words for either label: one is negated, and which one decides.
Both negated_twins(Draw& draw) {
  const Subject s = draw.from(subjects);
  Subject t = draw.from(subjects);
  while (t.noun == s.noun) t = draw.from(subjects);
  const std::string_view good = draw.from(praise);
  const std::string_view bad = draw.from(blame);
  const Negation n = draw.from(negations);
  const std::string_view joint = draw.from(joints);
  Both first{judged(s, good), judged(s, good, n)};
  Both second{judged(t, bad, n), judged(t, bad)};
  if (draw.percent(50)) std::swap(first, second);
  return joined(first, joint, second);
}

/// Two clauses of the same words for either label: which word goes with which noun decides.
Both swapped_twins(Draw& draw) {
  const Pairing& p = pairings[draw.below(pairings.size())];
  const std::string_view noun = draw.from(p.one.nouns);
  const std::string_view word = draw.from(p.one.suits);
  const std::string_view other_noun = draw.from(p.other.nouns);
  const std::string_view other_word = draw.from(p.other.suits);
  const std::string_view joint = draw.from(joints);
  Both first{sentence({"the", noun, p.verb, word}), sentence({"the", noun, p.verb, other_word})};
  Both second{sentence({"the", other_noun, p.verb, other_word}), sentence({"the", other_noun, p.verb, word})};
  if (draw.percent(50)) std::swap(first, second);
  return joined(first, joint, second);
}

// ---- reviews

Both twins(Draw& draw) { return draw.percent(55) ? negated_twins(draw) : swapped_twins(draw); }

Both clause(Draw& draw) {
  const std::size_t kind = draw.below(100);
  if (kind < 50) return plain(draw);
  return kind < 82 ? negated(draw) : together(draw);
}

/// One or two clauses, the second perhaps a verdict.
Both lone(Draw& draw) {
  const Both first = clause(draw);
  const std::size_t kind = draw.below(100);
  if (kind < 35) return first;
  const std::string_view joint = kind < 65 ? draw.from(joints) : draw.from(verdict_joints);
  const Both second = kind < 65 ? clause(draw) : verdict(draw);
  return joined(first, joint, second);
}

/// The full stop, and capitals where sentences begin.
std::string punctuated(std::string text) {
  text += '.';
  bool begins = true;
  for (char& c : text) {
    if (begins && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (c != ' ') begins = c == '.';
  }
  return text;
}

Both framed(Draw& draw, const Both& body) {
  std::string_view opening, closing;
  if (draw.percent(60)) opening = draw.from(openings);
  if (draw.percent(40)) closing = draw.from(closings);
  return {sentence({opening, punctuated(body.liked), closing}),
          sentence({opening, punctuated(body.hated), closing})};
}

/// A review as a reader of words sees it: without capitals and marks.
std::string bare(std::string_view text) {
  std::string words;
  for (const char c : text) {
    if (c >= 'A' && c <= 'Z') words += static_cast<char>(c - 'A' + 'a');
    if ((c >= 'a' && c <= 'z') || c == ' ') words += c;
  }
  return words;
}

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : draw_(seed) {}

  /// Four reviews with twins, then four without, and so on.
  std::vector<Review> part(std::size_t size) {
    std::vector<Review> reviews;
    reviews.reserve(size);
    while (reviews.size() < size) {
      if (reviews.size() % 8 < 4) {
        const Both body = twins(draw_);
        add(reviews, framed(draw_, body));
      } else {
        const Both praising = lone(draw_);
        const Both blaming = lone(draw_);
        const std::string liked = framed(draw_, praising).liked;
        const std::string hated = framed(draw_, blaming).hated;
        add(reviews, {liked, hated});
      }
    }
    return reviews;
  }

 private:
  void add(std::vector<Review>& reviews, const Both& two) {
    std::string liked = bare(two.liked), hated = bare(two.hated);
    if (seen_.contains(liked) || seen_.contains(hated)) return;
    seen_.insert(std::move(liked));
    seen_.insert(std::move(hated));
    reviews.push_back({two.liked, 1});
    reviews.push_back({two.hated, 0});
  }

  Draw draw_;
  std::set<std::string> seen_;
};

}  // namespace

Pile built_in_pile(std::uint64_t seed) {
  Writer writer(seed);
  Pile pile;
  pile.study = writer.part(6000);
  pile.exam = writer.part(1000);
  return pile;
}

}  // namespace pencil::imdb
