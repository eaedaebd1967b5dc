#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "examples/imdb/model_file.hpp"
#include "examples/imdb/review.hpp"

namespace pencil::imdb {

/// Reviews as the model takes them, the texts forgotten.
struct Encoded {
  nn::text::TokenRows rows;
  std::vector<std::int32_t> labels;

  std::int64_t size() const { return rows.rows; }
};
Encoded encode(std::vector<Review> reviews, const nn::text::Dictionary& dictionary,
               const ModelSettings& settings);

/// Token numbers (items, length) and labels (items), both i32.
struct LabelledBatch {
  Tensor tokens, labels;
};
LabelledBatch gather_batch(const Encoded& reviews, std::span<const std::int64_t> items);

/// Throws where finite weights were so large that a result is none; `what` names it.
void check_finite(double number, const char* what);

/// How many logits are on the side of their label: a chance above one half says liked.
std::int64_t count_right(const Tensor& logits, const Tensor& labels);

struct Judgement {
  double loss = 0;      ///< the mean
  double accuracy = 0;  ///< the share judged right
  /// How many reviews of each label (first index) got each verdict (second).
  std::array<std::array<std::int64_t, 2>, 2> table{};
  double seconds = 0;
};

/// Judges all reviews, in exam mode, without a tape. There must be at least one.
Judgement judge(const Classifier& classifier, const Encoded& reviews);

}  // namespace pencil::imdb
