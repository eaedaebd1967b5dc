#include "examples/imdb/listening.hpp"

#include <algorithm>

#include "autograd/autograd.hpp"

namespace pencil::imdb {

Tensor Slots::tokens() const { return tensor(numbers, {1, static_cast<std::int64_t>(numbers.size())}); }

Slots slots_of(const Model& model, std::string_view text) {
  const ModelSettings& settings = model.settings;
  const std::vector<std::int32_t> words =
      nn::text::token_numbers(model.dictionary, text, settings.tokenizer());
  Slots slots;
  slots.numbers = nn::text::pad(words, settings.max_len, settings.padding());
  slots.known = std::min(static_cast<std::int64_t>(words.size()), settings.max_len);
  return slots;
}

Listening listening_of(const Model& model, const Slots& slots) {
  Listening listening;
  if (!model.classifier.attend || slots.known == 0) return listening;
  const Tensor weights = model.classifier.weights(slots.tokens());
  const auto w = weights.values<float>();
  const std::size_t n = slots.numbers.size();
  const auto heads = static_cast<std::size_t>(weights.size(1));
  std::vector<double> received(n);
  for (std::size_t row = 0; row < heads * n; ++row)
    if (slots.numbers[row % n] != 0)
      for (std::size_t j = 0; j < n; ++j) received[j] += static_cast<double>(w[row * n + j]);
  const double rows = static_cast<double>(heads) * static_cast<double>(slots.known);

  std::vector<std::pair<std::int32_t, double>> by_number;
  for (std::size_t j = 0; j < n; ++j) by_number.emplace_back(slots.numbers[j], received[j] / rows);
  std::stable_sort(by_number.begin(), by_number.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::int32_t last = 0;
  for (const auto& [number, fraction] : by_number) {
    if (number == 0) {
      listening.padding += fraction;
      continue;
    }
    if (number != last) listening.words.push_back({.word = model.dictionary.word(number)});
    last = number;
    ++listening.words.back().count;
    listening.words.back().fraction += fraction;
  }
  std::stable_sort(listening.words.begin(), listening.words.end(),
                   [](const Listened& a, const Listened& b) { return a.fraction > b.fraction; });
  return listening;
}

}  // namespace pencil::imdb
