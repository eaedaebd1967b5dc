#include "nn/text/utf8.hpp"

namespace pencil::nn::text {

std::int64_t replace_broken_bytes(std::string& text) {
  std::int64_t broken = 0;
  char* p = text.data();
  char* const end = p + text.size();
  while (p != end) {
    if (const int length = sequence_length(p, end)) {
      p += length;
    } else {
      *p++ = ' ';
      ++broken;
    }
  }
  return broken;
}

}  // namespace pencil::nn::text
