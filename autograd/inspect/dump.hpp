#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include "autograd/inspect/filter.hpp"
#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

struct DumpOptions {
  Glossary glossary = Glossary::pencil;
  bool lines = false;     // also the source line of each step: the user's, and the op's own where it differs
  bool settings = false;  // also the settings an op was applied with (axis=1)
  std::int64_t whole =
      16;  // tensors of at most so many numbers are printed whole, eight to a row and eight rows at most
  bool shape = true;
  bool value = true;
  bool blame = true;
  bool bytes = false;  // also what a step holds: value, what it saved, blame, each number once (see memory)
  bool time = false;   // also how long forward and backward took, where the tape measured it
  int fold = 0;   // n: steps of a module n names deep in one line, and repeats rolled up; 0: a line a step
  int width = 0;  // lines are cut at so many columns, the last being "…"; 0: never
  DumpFilter filter = {};  // which steps are shown
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
/// With `.fold = n`, consecutive steps of a module whose path has n names ("layers.0" has two) or more come
/// in one line: the numbers of its first and last step, how many there are, the path, the steps outside that
/// it reads, and shape, value and blame of its last step. A line that comes several times in a row, equal but
/// for its values and the numbers in its names, says "× 12". A block of several lines that repeats stands
/// once, as it was the last time, indented below a line that says how often.
///
/// Changes nothing. Equal runs give equal bytes: no addresses, no locale, no times unless asked. Linear in
/// the tape; never recursive. Throws Error for options that make no sense and for steps in the filter that
/// are not there.
std::string dump(const Tape& tape, const DumpOptions& options = {});
/// The same text in pieces of some tens of kilobytes, so that a long tape's need not fit in memory.
void dump(const Tape& tape, const DumpOptions& options, const std::function<void(std::string_view)>& write);
/// The same text to a file. Throws Error if it cannot be written.
void dump(std::FILE* file, const Tape& tape, const DumpOptions& options = {});

/// The same content as strict JSON, a line of text for each line of the dump; docs/dump-json.md has the
/// fields. Tensors of at most `.whole` numbers are whole, NaN and infinities are the strings "nan", "inf" and
/// "-inf", and invalid UTF-8 in names is replaced. `.width` means nothing here.
std::string dump_json(const Tape& tape, const DumpOptions& options = {});
/// The same in pieces of some tens of kilobytes.
void dump_json(const Tape& tape, const DumpOptions& options,
               const std::function<void(std::string_view)>& write);
/// The same to a file. Throws Error if it cannot be written.
void dump_json(std::FILE* file, const Tape& tape, const DumpOptions& options = {});

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
