#include "examples/imdb/judge.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "autograd/autograd.hpp"

namespace pencil::imdb {

Encoded encode(std::vector<Review> reviews, const nn::text::Dictionary& dictionary,
               const ModelSettings& settings) {
  Encoded encoded;
  const auto text_at = [&](std::int64_t i) -> std::string_view {
    return reviews[static_cast<std::size_t>(i)].text;
  };
  encoded.rows = nn::text::token_rows(dictionary, static_cast<std::int64_t>(reviews.size()), text_at,
                                      settings.max_len, settings.padding(), settings.tokenizer());
  encoded.labels.reserve(reviews.size());
  for (const Review& review : reviews) encoded.labels.push_back(review.label);
  return encoded;
}

LabelledBatch gather_batch(const Encoded& reviews, std::span<const std::int64_t> items) {
  const auto n = static_cast<std::int64_t>(items.size());
  const std::int64_t length = reviews.rows.length;
  LabelledBatch batch{empty({n, length}, i32), empty({n}, i32)};
  std::int32_t* row = batch.tokens.writable<std::int32_t>().data();
  std::int32_t* label = batch.labels.writable<std::int32_t>().data();
  for (const std::int64_t item : items) {
    row = std::copy_n(reviews.rows.numbers.begin() + item * length, length, row);
    *label++ = reviews.labels[static_cast<std::size_t>(item)];
  }
  return batch;
}

void check_finite(double number, const char* what) {
  if (!std::isfinite(number))
    fail("{} is no finite number: the weights of the model are too large to judge with", what);
}

std::int64_t count_right(const Tensor& logits, const Tensor& labels) {
  const auto z = logits.values<float>();
  const auto y = labels.values<std::int32_t>();
  std::int64_t right = 0;
  for (std::size_t i = 0; i < y.size(); ++i) right += (z[i] > 0) == (y[i] == 1);
  return right;
}

Judgement judge(const Classifier& classifier, const Encoded& reviews) {
  constexpr std::int64_t together = 512;
  const auto start = std::chrono::steady_clock::now();
  Judgement judgement;
  std::vector<std::int64_t> items;
  for (std::int64_t done = 0; done < reviews.size();) {
    items.resize(static_cast<std::size_t>(std::min(together, reviews.size() - done)));
    std::iota(items.begin(), items.end(), done);
    done += static_cast<std::int64_t>(items.size());
    const LabelledBatch batch = gather_batch(reviews, items);
    const Tensor logits = classifier(batch.tokens);
    judgement.loss +=
        binary_cross_entropy_with_logits(logits, batch.labels).item() * static_cast<double>(items.size());
    const auto z = logits.values<float>();
    const auto y = batch.labels.values<std::int32_t>();
    for (std::size_t i = 0; i < y.size(); ++i)
      ++judgement.table[static_cast<std::size_t>(y[i])][z[i] > 0 ? 1 : 0];
  }
  const auto n = static_cast<double>(reviews.size());
  judgement.loss /= n;
  judgement.accuracy = static_cast<double>(judgement.table[0][0] + judgement.table[1][1]) / n;
  judgement.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return judgement;
}

}  // namespace pencil::imdb
