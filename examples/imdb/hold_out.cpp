#include "examples/imdb/hold_out.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "autograd/error.hpp"
#include "autograd/random.hpp"

namespace pencil::imdb {

HoldOut hold_out(std::vector<Review> reviews, double fraction, std::uint64_t seed) {
  if (!(fraction > 0 && fraction < 1))
    fail("[hold_out] fraction is {}; need more than 0 and less than 1", fraction);
  Rng rng{seed};
  std::vector<bool> chosen(reviews.size());
  for (const int label : {1, 0}) {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < reviews.size(); ++i)
      if (reviews[i].label == label) places.push_back(i);
    if (places.size() < 2) continue;
    const auto share = static_cast<std::size_t>(std::llround(fraction * static_cast<double>(places.size())));
    const std::size_t wanted = std::clamp<std::size_t>(share, 1, places.size() - 1);
    for (std::size_t i = 0; i < wanted; ++i) {  // the first steps of a Fisher–Yates shuffle
      std::swap(places[i], places[i + rng.below(places.size() - i)]);
      chosen[places[i]] = true;
    }
  }
  HoldOut parts;
  for (std::size_t i = 0; i < reviews.size(); ++i)
    (chosen[i] ? parts.held_out : parts.kept).push_back(std::move(reviews[i]));
  if (parts.held_out.empty() || parts.kept.empty())
    fail("[hold_out] {} reviews are too few to hold some out; need two of one label", reviews.size());
  return parts;
}

}  // namespace pencil::imdb
