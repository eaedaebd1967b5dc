#include "nn/text/tokenizer.hpp"

#include <algorithm>

namespace pencil::nn::text {

std::string_view detail::LowerCase::operator()(std::string_view word) {
  char* out = small_.data();
  if (word.size() > small_.size()) {
    large_.resize(word.size());
    out = large_.data();
  }
  std::transform(word.begin(), word.end(), out,
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return {out, word.size()};
}

std::size_t detail::break_length(std::string_view text) {
  const auto at = [text](std::size_t i) { return i < text.size() ? text[i] : '\0'; };
  if (at(0) != '<' || (at(1) | 0x20) != 'b' || (at(2) | 0x20) != 'r') return 0;
  std::size_t i = 3;
  while (at(i) == ' ') ++i;
  if (at(i) == '/') ++i;
  return at(i) == '>' ? i + 1 : 0;
}

Words split_words(std::string_view text, const TokenizerOptions& options) {
  Words result;
  result.broken_bytes = for_each_word(
      text, [&](std::string_view word) { result.words.emplace_back(word); }, options);
  return result;
}

}  // namespace pencil::nn::text
