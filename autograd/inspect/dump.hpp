#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

struct DumpOptions {
  Glossary glossary = Glossary::pencil;
  bool lines = false;     // also the source line of each step: the user's, and the op's own where it differs
  bool settings = false;  // also the settings an op was applied with (axis=1)
  std::int64_t whole =
      16;  // tensors of at most so many numbers are printed whole, eight to a row and eight rows at most
};

/// The tape as text: a line that says what it is, one with the titles of the columns, then its steps in order
/// of creation. A step has its number, the glossary's word, its name and module path, its shape (with the
/// dtype where it is not the tape's usual one), the steps it was computed from (plain numbers stand in
/// place), its value and the gradient that `backward` brought. A tensor that is small is printed whole, a row
/// a line; any other by its first numbers, least, mean and largest (of the finite ones; NaN and infinities
/// are counted).
///
/// What is not there is said: "no blame yet" before backward, "none came" where backward did not pass, "–"
/// where no parameter leads, "freed" (Keep::leaves; a parameter then shows what it has collected), "not
/// recorded" for a paused step. A parameter written since it was read shows no value but "overwritten at
/// train.cpp:12, version 3 → 4", and the steps that read it name the version they read.
///
/// Changes nothing. Equal runs give equal bytes: no addresses, no times, no locale. Linear in the tape; never
/// recursive.
std::string dump(const Tape& tape, const DumpOptions& options = {});
/// The same text in pieces of some tens of kilobytes, so that a long tape's need not fit in memory.
void dump(const Tape& tape, const DumpOptions& options, const std::function<void(std::string_view)>& write);
/// The same text to a file. Throws Error if it cannot be written.
void dump(std::FILE* file, const Tape& tape, const DumpOptions& options = {});

}  // namespace pencil

/// "{}" prints dump(tape).
template <>
struct fmt::formatter<pencil::Tape> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const pencil::Tape& tape, fmt::format_context& context) const {
    const std::string text = pencil::dump(tape);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
