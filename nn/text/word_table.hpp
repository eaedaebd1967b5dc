#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pencil::nn::text {

/// A set of words, each with its place 0, 1, 2 … in order of first sight. The bytes of all words lie in one
/// block; looking a word up reads about one cache line of a table with open addressing (Knuth, The Art of
/// Computer Programming 3, 6.4, algorithm L).
class WordTable {
 public:
  static constexpr std::int32_t none = -1;

  /// The word's place, or none.
  std::int32_t find(std::string_view word) const;
  /// The word's place; a new word is added at the end.
  std::int32_t find_or_add(std::string_view word);

  std::int32_t size() const { return static_cast<std::int32_t>(ends_.size()); }
  /// The word at a place in 0 … size() − 1; the view lives until the next word is added.
  std::string_view word(std::int32_t place) const;

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::int32_t place = none;
  };

  /// The slot that holds the word or, where there is none, the free slot it would go to.
  std::size_t slot_of(std::string_view word, std::uint32_t hash) const;
  void grow();

  std::string bytes_;              // all words, one behind the other
  std::vector<std::size_t> ends_;  // where each ends in bytes_
  std::vector<Slot> slots_;        // 2^n of them or none, at most half full
};

}  // namespace pencil::nn::text
