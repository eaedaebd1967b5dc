#pragma once

#include <cstdint>
#include <vector>

#include "examples/imdb/review.hpp"

namespace pencil::imdb {

struct HoldOut {
  std::vector<Review> kept;
  std::vector<Review> held_out;
};

/// Holds out a fraction of the reviews, chosen by the seed: of each label the same share, rounded, but at
/// least one review on either side where a label has two. Both parts keep the order. Throws unless 0 <
/// fraction < 1, and when one part would be empty.
HoldOut hold_out(std::vector<Review> reviews, double fraction, std::uint64_t seed);

}  // namespace pencil::imdb
