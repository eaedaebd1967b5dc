#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/tokenizer.hpp"
#include "nn/text/word_table.hpp"

namespace pencil::nn::text {

/// Text number i of a collection; called from several threads.
using TextAt = std::function<std::string_view(std::int64_t i)>;

/// How often each word stands in the texts seen so far.
class WordCounter {
 public:
  /// Counts the words of one more text.
  void add(std::string_view text, const TokenizerOptions& options = {});
  /// Adds what another counter saw, as if its texts followed the ones seen here.
  void merge(const WordCounter& later);

  /// How many different words there were.
  std::int64_t distinct() const { return table_.size(); }
  /// How many words there were.
  std::int64_t total() const { return total_; }
  /// How many bytes of broken UTF-8 there were.
  std::int64_t broken_bytes() const { return broken_bytes_; }
  /// How often the word was seen: 0 for an unknown one.
  std::int64_t count(std::string_view word) const;
  /// The `most` commonest words: by count, ties in order of first sight.
  std::vector<std::string_view> commonest(std::int64_t most) const;

 private:
  WordTable table_;
  std::vector<std::int64_t> counts_;
  std::int64_t total_ = 0;
  std::int64_t broken_bytes_ = 0;
};

/// Counts the words of n texts on all threads. The order of first sight is that of the texts, whatever the
/// number of threads.
WordCounter count_words(std::int64_t n, const TextAt& text_at, const TokenizerOptions& options = {});

/// The kept words, numbered 1, 2, 3 … from the commonest; 0 stands for padding.
class Dictionary {
 public:
  /// Keeps no word.
  Dictionary() = default;
  /// The given words, numbered from 1 in their order: what words() gave. Throws for an empty word and for one
  /// that stands twice.
  explicit Dictionary(const std::vector<std::string>& words);
  /// The commonest words. As in Keras the vocabulary's size counts the padding row: 10,000 keeps the words
  /// 1 … 9,999 (fewer where the texts have fewer). Throws for a size below 2.
  Dictionary(const WordCounter& counts, std::int64_t vocabulary_size);

  /// The rows an embedding table needs: the kept words and the padding row.
  std::int64_t size() const { return std::int64_t{1} + table_.size(); }
  /// The word's number, or 0 where it is not kept. The word must be as the tokenizer gives it: lower-case.
  std::int32_t number(std::string_view word) const { return table_.find(word) + 1; }
  /// The word of a number in 1 … size() − 1; throws for any other.
  std::string_view word(std::int32_t number) const;
  /// All kept words in order, from number 1 on.
  std::vector<std::string> words() const;

 private:
  WordTable table_;  // the word with number i + 1 has place i
  static_assert(WordTable::none == -1);
};

}  // namespace pencil::nn::text
