#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pencil::nn::text {

/// Bytes of the well-formed UTF-8 sequence that begins at p (The Unicode Standard, table 3-7: no overlong
/// forms, no surrogates, nothing above U+10FFFF), or 0 where none does. Needs p != end.
inline int sequence_length(const char* p, const char* end) {
  const auto byte = [p](int i) { return static_cast<unsigned char>(p[i]); };
  const auto follows = [&](int i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned char lead = byte(0);
  const auto left = end - p;
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return left >= 2 && follows(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (left < 3 || !follows(1) || !follows(2)) return 0;
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) >= 0xA0) return 0;
    return 3;
  }
  if (lead > 0xF4 || left < 4 || !follows(1) || !follows(2) || !follows(3)) return 0;
  if (lead == 0xF0 && byte(1) < 0x90) return 0;
  if (lead == 0xF4 && byte(1) >= 0x90) return 0;
  return 4;
}

/// Replaces every byte that is no part of a well-formed sequence by a space; returns how many there were.
std::int64_t replace_broken_bytes(std::string& text);

}  // namespace pencil::nn::text
