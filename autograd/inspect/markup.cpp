#include "autograd/inspect/markup.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/inspect/cells.hpp"

namespace pencil::inspect {

namespace {

// How many bytes the character at the start of a text takes; 0 where they are not sound UTF-8 (The Unicode
// Standard, table 3-7).
std::size_t sound_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto follows = [&](std::size_t i, int least = 0x80, int largest = 0xbf) {
    return byte(i) >= least && byte(i) <= largest;
  };
  const int first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef)
    return follows(1, first == 0xe0 ? 0xa0 : 0x80, first == 0xed ? 0x9f : 0xbf) && follows(2) ? 3 : 0;
  if (first >= 0xf0 && first <= 0xf4)
    return follows(1, first == 0xf0 ? 0x90 : 0x80, first == 0xf4 ? 0x8f : 0xbf) && follows(2) && follows(3)
               ? 4
               : 0;
  return 0;
}

}  // namespace

std::string plain(std::string_view text) {
  std::string to;
  while (!text.empty()) {
    const std::size_t bytes = sound_bytes(text);
    const std::string_view one = text.substr(0, std::max<std::size_t>(bytes, 1));
    if (bytes == 0)
      to += fmt::format("\\x{:02x}", static_cast<unsigned char>(one[0]));
    else if (one == "\xef\xbf\xbe" || one == "\xef\xbf\xbf")
      to += one == "\xef\xbf\xbe" ? "\\ufffe" : "\\uffff";
    else if (bytes == 2 && one < "\xc2\xa0")  // the other control characters, U+0080 … U+009F
      to += fmt::format("\\x{:02x}", static_cast<unsigned char>(one[1]));
    else
      append_plain(to, one);
    text.remove_prefix(one.size());
  }
  return to;
}

std::string shortened(std::string_view text, std::size_t columns) {
  std::string line = plain(text);
  if (width_of(line) <= columns) return line;
  std::size_t end = 0;
  for (std::size_t kept = 0; kept + 1 < columns; ++kept)
    end += sound_bytes(std::string_view(line).substr(end));
  return line.substr(0, end) + "…";
}

void append_xml(std::string& to, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&':
        to += "&amp;";
        break;
      case '<':
        to += "&lt;";
        break;
      case '>':
        to += "&gt;";
        break;
      case '"':
        to += "&quot;";
        break;
      default:
        to += c;
    }
  }
}

void append_dot(std::string& to, std::string_view text) {
  for (const char c : text) {
    if (c == '"' || c == '\\') to += '\\';
    to += c;
    if (c == '&') to += "amp;";  // or &lt; in a name would be drawn as <
  }
}

}  // namespace pencil::inspect
