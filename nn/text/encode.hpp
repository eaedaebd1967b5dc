#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "nn/text/dictionary.hpp"
#include "nn/text/padding.hpp"
#include "nn/text/tokenizer.hpp"

namespace pencil::nn::text {

/// The numbers of a text's kept words, in order; words that are not kept leave no gap.
std::vector<std::int32_t> token_numbers(const Dictionary& dictionary, std::string_view text,
                                        const TokenizerOptions& options = {});

/// Texts as rows of token numbers: (rows, length), row-major.
struct TokenRows {
  std::vector<std::int32_t> numbers;
  std::int64_t rows = 0;
  std::int64_t length = 0;
  std::int64_t words = 0;         ///< words in all texts
  std::int64_t unknown = 0;       ///< of them, words the dictionary does not keep
  std::int64_t chopped = 0;       ///< of them, kept words that found no room in their row
  std::int64_t broken_bytes = 0;  ///< bytes of broken UTF-8
};

/// Reads n texts on all threads: words that are not kept are dropped first, then each row is filled or
/// chopped to `length`. Throws for a length below 1.
TokenRows token_rows(const Dictionary& dictionary, std::int64_t n, const TextAt& text_at, std::int64_t length,
                     const Padding& padding = {}, const TokenizerOptions& options = {});

}  // namespace pencil::nn::text
