#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "examples/imdb/model_file.hpp"

namespace pencil::imdb {

/// A text as the model takes it.
struct Slots {
  std::vector<std::int32_t> numbers;  ///< max_len token numbers, 0 for padding
  std::int64_t known = 0;             ///< slots that hold a word

  Tensor tokens() const;  ///< (1, max_len), i32
};
Slots slots_of(const Model& model, std::string_view text);

/// How much attention one word received.
struct Listened {
  std::string_view word;  ///< of the model's dictionary
  int count = 0;          ///< in how many slots it stands
  double fraction = 0;    ///< in all of them
};

/// Who was listened to: the attention weights of a review, averaged over the heads and over the rows of its
/// words (padding looks too, but nobody asks it). All fractions and the padding's share add up to 1.
struct Listening {
  std::vector<Listened> words;  ///< the most listened to first
  double padding = 0;
};

/// For a model with attention and a text with at least one known word; otherwise nothing was listened to.
Listening listening_of(const Model& model, const Slots& slots);

}  // namespace pencil::imdb
