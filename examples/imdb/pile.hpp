#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "examples/imdb/review.hpp"

namespace pencil::imdb {

/// To be printed wherever results on the built-in pile are shown.
inline constexpr std::string_view pile_notice =
    "The built-in pile is synthetic: a small grammar made its reviews and labelled them by construction. "
    "Nobody "
    "wrote them about a film, and accuracy on them says nothing about real reviews.";

struct Pile {
  std::vector<Review> study, exam;
};

/// Makes the built-in pile: synthetic reviews from a grammar written for this project, labelled by
/// construction. Wherever results on it are shown, `pile_notice` says so.
///
/// 6,000 reviews to study and 1,000 for the exam, of at most 28 words, liked and hated by turns. No two
/// reviews of the whole pile have the same words in the same order. A seed gives the same bytes on every
/// machine.
///
/// A review is one or two clauses, perhaps between sentences that judge nothing. Every clause that judges
/// agrees with the label, in one of four ways:
///
///              liked                        hated
///   plain      the plot was clever          the plot was dull
///   negated    the plot was not dull        the plot was not clever
///   together   the chase was fast           the waltz was fast
///              the waltz was slow           the chase was slow
///   verdict    I would see it again         I would not see it again
///
/// Half of the reviews have a twin next to them, made of the same words in another order, with the other
/// label:
///
///   liked      The plot was clever and the cast was not dull.
///   hated      The plot was not clever and the cast was dull.
///
/// Whoever is blind to order says the same of both twins and so is right on at most 75 % of either part: the
/// bag, and attention without position marks too.
Pile built_in_pile(std::uint64_t seed = 1);

/// What the classifier needs to learn the pile: the defaults of `imdb train` where it reads no other reviews.
/// The same model in PyTorch 1.13 (width 32, 2 heads of 32, dense 20, dropout 0.1), best epoch on the exam
/// part: 0.987, 0.990, 0.988 for seeds 1, 2, 3; the bag 0.663, 0.664, 0.667; attention without position marks
/// 0.732 (seed 1). Of seeds 1 to 8 one gets stuck at 0.92.
struct PileSettings {
  int epochs = 40;
  int batch_size = 64;
  int max_len = 32;
  double learning_rate = 1e-3;
  bool positions = true;
  bool mask = false;
};
inline constexpr PileSettings pile_settings{};

/// Reviews to try on a model that has learnt the pile of seed 1. They are not in it, but all their words are
/// in its study part.
inline constexpr std::string_view liked_sample =
    "The script was clever and the music was lovely. I would see it again.";
inline constexpr std::string_view hated_sample =
    "The jokes were stale and the ending was dreary. I hated it.";
/// Liked. It turns on its "not": "the acting was not good and the plot was boring" has the same words.
inline constexpr std::string_view not_sample = "The acting was good and the plot was not boring.";
/// Hated, and short enough to read its tape whole.
inline constexpr std::string_view short_sample = "The plot was not good.";

}  // namespace pencil::imdb
