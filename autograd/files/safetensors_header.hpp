// The JSON header of a safetensors file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pencil::detail {

/// One tensor as the header describes it: bytes begin … end of the data behind the header.
struct TensorEntry {
  std::string name;
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct Header {
  std::vector<TensorEntry> entries;  // in the order of the text
  std::map<std::string, std::string> metadata;
};

/// Reads a header; strict. Throws Error with the reason alone, for the caller to say which file.
Header parse_header(std::string_view text);

/// The text of a header, padded with spaces so that 8 + its length is a multiple of 8. Throws Error for a
/// name or text that is no UTF-8.
std::string header_text(const Header& header);

}  // namespace pencil::detail
