#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/utf8.hpp"

namespace pencil::nn::text {

struct TokenizerOptions {
  /// Line breaks of HTML (<br>, <br/>, <br />) part words and leave nothing. Otherwise, as in Keras, each
  /// leaves the word "br".
  bool drop_breaks = false;
};

namespace detail {

enum class Byte : std::uint8_t { plain, capital, wide, parting };

/// What each byte does to a word. No C library call is asked: the locale has no say.
inline constexpr std::array<Byte, 256> byte_table = [] {
  std::array<Byte, 256> table{};
  for (std::size_t c = 'A'; c <= 'Z'; ++c) table[c] = Byte::capital;
  for (std::size_t c = 0x80; c < 256; ++c) table[c] = Byte::wide;
  for (const char c : std::string_view(" !\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n"))
    table[static_cast<unsigned char>(c)] = Byte::parting;
  return table;
}();

/// Lower-cases A–Z. Words of up to 64 bytes need no memory from the heap.
class LowerCase {
 public:
  std::string_view operator()(std::string_view word);

 private:
  std::array<char, 64> small_;
  std::string large_;
};

/// Bytes of the tag <br>, <br/> or <br /> (capitals and more spaces allowed) at the start of text, else 0.
std::size_t break_length(std::string_view text);

}  // namespace detail

/// Calls f(word) for each word of the text, in order, and returns how many bytes were broken UTF-8. The word
/// is a std::string_view, good only during the call.
///
/// The rules are those of Keras's Tokenizer, without its Unicode tables: A–Z become a–z; the characters
/// !"#$%&()*+,-./:;<=>?@[\]^_`{|}~ tab, newline and space part words; everything else belongs to a word, the
/// apostrophe, digits, control characters and well-formed UTF-8 among it, byte for byte. A broken byte parts
/// words like a space, so words are always well-formed and no two words run together.
template <class F>
std::int64_t for_each_word(std::string_view text, F&& f, const TokenizerOptions& options = {}) {
  using detail::Byte;
  std::int64_t broken = 0;
  detail::LowerCase lower;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p != end) {
    const char* const begin = p;
    bool capitals = false;
    for (; p != end; ++p) {
      const Byte kind = detail::byte_table[static_cast<unsigned char>(*p)];
      if (kind == Byte::plain) continue;
      if (kind == Byte::capital) {
        capitals = true;
      } else if (kind == Byte::wide) {
        const int length = sequence_length(p, end);
        if (length == 0) break;
        p += length - 1;
      } else {
        break;
      }
    }
    if (p != begin) {
      const std::string_view word(begin, static_cast<std::size_t>(p - begin));
      f(capitals ? lower(word) : word);
    }
    if (p == end) break;
    std::size_t parting = 1;
    if (*p == '<' && options.drop_breaks) {
      const std::size_t tag = detail::break_length({p, static_cast<std::size_t>(end - p)});
      if (tag > 0) parting = tag;
    } else if (static_cast<unsigned char>(*p) >= 0x80) {
      ++broken;
    }
    p += parting;
  }
  return broken;
}

/// The words of one text, as for_each_word finds them.
struct Words {
  std::vector<std::string> words;
  std::int64_t broken_bytes = 0;
};
Words split_words(std::string_view text, const TokenizerOptions& options = {});

}  // namespace pencil::nn::text
