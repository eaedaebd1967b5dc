#include "nn/text/encode.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <span>

#include "autograd/error.hpp"
#include "autograd/kernels/threads.hpp"

namespace pencil::nn::text {
namespace {

struct Tally {
  std::int64_t words = 0;
  std::int64_t broken_bytes = 0;
};

/// Appends the text's kept words to `numbers`.
Tally append_numbers(std::vector<std::int32_t>& numbers, const Dictionary& dictionary, std::string_view text,
                     const TokenizerOptions& options) {
  Tally tally;
  const auto look_up = [&](std::string_view word) {
    ++tally.words;
    if (const std::int32_t number = dictionary.number(word)) numbers.push_back(number);
  };
  tally.broken_bytes = for_each_word(text, look_up, options);
  return tally;
}

}  // namespace

std::vector<std::int32_t> token_numbers(const Dictionary& dictionary, std::string_view text,
                                        const TokenizerOptions& options) {
  std::vector<std::int32_t> numbers;
  append_numbers(numbers, dictionary, text, options);
  return numbers;
}

TokenRows token_rows(const Dictionary& dictionary, std::int64_t n, const TextAt& text_at, std::int64_t length,
                     const Padding& padding, const TokenizerOptions& options) {
  if (length < 1) fail("[token_rows] length is {}; need 1 or more", length);
  if (n < 0) fail("[token_rows] number of texts is {}; need 0 or more", n);
  if (n > std::numeric_limits<std::int64_t>::max() / length / std::int64_t{sizeof(std::int32_t)})
    fail("[token_rows] {} rows of {} tokens do not fit in memory", n, length);
  TokenRows result;
  result.rows = n;
  result.length = length;
  result.numbers.resize(static_cast<std::size_t>(n * length));
  std::mutex mutex;
  constexpr std::int64_t grain = 512;
  kernels::parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    TokenRows part;
    std::vector<std::int32_t> numbers;
    for (std::int64_t i = begin; i < end; ++i) {
      numbers.clear();
      const Tally tally = append_numbers(numbers, dictionary, text_at(i), options);
      const auto kept = static_cast<std::int64_t>(numbers.size());
      part.words += tally.words;
      part.unknown += tally.words - kept;
      part.chopped += std::max<std::int64_t>(kept - length, 0);
      part.broken_bytes += tally.broken_bytes;
      const auto row = static_cast<std::size_t>(i * length);
      pad_into(std::span(result.numbers).subspan(row, static_cast<std::size_t>(length)), numbers, padding);
    }
    const std::lock_guard lock(mutex);
    result.words += part.words;
    result.unknown += part.unknown;
    result.chopped += part.chopped;
    result.broken_bytes += part.broken_bytes;
  });
  return result;
}

}  // namespace pencil::nn::text
