#pragma once

#include <optional>

#include "examples/imdb/console.hpp"
#include "examples/imdb/judge.hpp"
#include "examples/imdb/options.hpp"
#include "examples/imdb/reader.hpp"

namespace pencil::imdb {

/// 1234567 as "1,234,567".
std::string with_commas(std::int64_t n);

/// "25,000 reviews (12,500 liked, 12,500 hated)".
std::string counts_of(const std::vector<Review>& reviews);

/// Bad rows, broken bytes and files without labels, a line each; empty where there is none.
std::string oddities_of(const Reading& reading);

/// What training needs, as the model takes it.
struct TrainingData {
  nn::text::Dictionary dictionary;
  Encoded study, exam;
  std::optional<Encoded> validation;
};

/// Reads all piles, makes the dictionary from what is studied, and says what was read.
TrainingData read_training_data(const TrainOptions& options, Console& console);

}  // namespace pencil::imdb
