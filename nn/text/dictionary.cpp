#include "nn/text/dictionary.hpp"

#include <algorithm>
#include <numeric>

#include "autograd/error.hpp"
#include "autograd/kernels/threads.hpp"

namespace pencil::nn::text {

void WordCounter::add(std::string_view text, const TokenizerOptions& options) {
  const auto count_word = [this](std::string_view word) {
    const auto place = static_cast<std::size_t>(table_.find_or_add(word));
    if (place == counts_.size()) counts_.push_back(0);
    ++counts_[place];
    ++total_;
  };
  broken_bytes_ += for_each_word(text, count_word, options);
}

void WordCounter::merge(const WordCounter& later) {
  for (std::int32_t i = 0; i < later.table_.size(); ++i) {
    const auto place = static_cast<std::size_t>(table_.find_or_add(later.table_.word(i)));
    if (place == counts_.size()) counts_.push_back(0);
    counts_[place] += later.counts_[static_cast<std::size_t>(i)];
  }
  total_ += later.total_;
  broken_bytes_ += later.broken_bytes_;
}

std::int64_t WordCounter::count(std::string_view word) const {
  const std::int32_t place = table_.find(word);
  return place == WordTable::none ? 0 : counts_[static_cast<std::size_t>(place)];
}

std::vector<std::string_view> WordCounter::commonest(std::int64_t most) const {
  std::vector<std::int32_t> places(counts_.size());
  std::iota(places.begin(), places.end(), 0);
  const auto before = [this](std::int32_t a, std::int32_t b) {
    const std::int64_t count_a = counts_[static_cast<std::size_t>(a)];
    const std::int64_t count_b = counts_[static_cast<std::size_t>(b)];
    return count_a != count_b ? count_a > count_b : a < b;
  };
  const std::int64_t kept = std::clamp<std::int64_t>(most, 0, distinct());
  std::partial_sort(places.begin(), places.begin() + kept, places.end(), before);
  std::vector<std::string_view> words;
  words.reserve(static_cast<std::size_t>(kept));
  for (std::int64_t i = 0; i < kept; ++i) words.push_back(table_.word(places[static_cast<std::size_t>(i)]));
  return words;
}

WordCounter count_words(std::int64_t n, const TextAt& text_at, const TokenizerOptions& options) {
  constexpr std::int64_t grain = 2048;
  std::vector<WordCounter> parts(
      static_cast<std::size_t>((std::max<std::int64_t>(n, 0) + grain - 1) / grain));
  kernels::parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    WordCounter part;
    for (std::int64_t i = begin; i < end; ++i) part.add(text_at(i), options);
    parts[static_cast<std::size_t>(begin / grain)] = std::move(part);
  });
  WordCounter whole;
  for (const WordCounter& part : parts) whole.merge(part);
  return whole;
}

Dictionary::Dictionary(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const std::int32_t place = table_.size();
    if (word.empty()) fail("[dictionary] word {} is empty", place + 1);
    if (const std::int32_t first = table_.find_or_add(word); first != place)
      fail("[dictionary] the word '{}' has two numbers: {} and {}", word, first + 1, place + 1);
  }
}

Dictionary::Dictionary(const WordCounter& counts, std::int64_t vocabulary_size) {
  if (vocabulary_size < 2)
    fail("[dictionary] vocabulary size is {}; need 2 or more: one row is for padding", vocabulary_size);
  for (const std::string_view word : counts.commonest(vocabulary_size - 1)) table_.find_or_add(word);
}

std::string_view Dictionary::word(std::int32_t number) const {
  if (number < 1 || number >= size())
    fail("[dictionary] no word has number {}; need 1 to {} (0 is padding)", number, size() - 1);
  return table_.word(number - 1);
}

std::vector<std::string> Dictionary::words() const {
  std::vector<std::string> words;
  words.reserve(static_cast<std::size_t>(table_.size()));
  for (std::int32_t i = 0; i < table_.size(); ++i) words.emplace_back(table_.word(i));
  return words;
}

}  // namespace pencil::nn::text
