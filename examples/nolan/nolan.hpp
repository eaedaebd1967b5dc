#pragma once

#include <cstdint>
#include <string>

namespace pencil::nolan {

struct Options {
  bool pencil = false;     // round after every step, as a person with a pencil does
  bool mask = false;       // padding rows are not listened to
  bool blame = false;      // also backward, from the sum of the new stick
  bool whole = false;      // also the rest of the machine, and its blame from the wrongness
  bool tape = false;       // also the tape itself
  std::int64_t slots = 2;  // words and padding rows together
};

/// "nolan ended", worked through: the word nolan looks at both words (and at padding) and gets a new stick.
std::string page(const Options& options);

}  // namespace pencil::nolan
