#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

struct CompareOptions {
  /// What numbers may differ by, as a part of the largest finite one of their tensor, in either run. 0: not
  /// in a bit, but that NaN agrees with NaN.
  double tolerance = 0;
  Glossary glossary = Glossary::pencil;
};

/// Where two tapes part.
struct Comparison {
  enum class Difference : std::uint8_t {
    none,
    kind,      // an op in the one, a parameter in the other …
    word,      // another op
    dtype,     //
    shape,     //
    inputs,    // computed from other steps or plain numbers, or the gradient of another step
    settings,  // applied with other settings
    role,      //
    path,      // in another module
    value,     // other numbers
    length,    // one tape is the beginning of the other, `step` the first that it does not have
    backward,  // only one has run backward, or from another step
    blame      // other numbers
  };

  Difference difference = Difference::none;
  int step = -1;           // the first step where they part; for blame the first as backward goes: the last
  std::string title;       // what it is called: "SCALE in attend"
  std::string in_a, in_b;  // what the one has there, and the other
  std::int64_t element = -1;       // of value or blame: the first number that differs, row-major,
  std::string index;               // where it stands: "[0, 1]",
  double a = 0, b = 0;             // what it is in both,
  double scale = 0;                // and the largest finite number of the tensor in either
  std::string worked_a, worked_b;  // of a value: its arithmetic in both, line by line; of a leaf nothing

  int steps_a = 0, steps_b = 0;
  int values = 0, blames = 0;  // so many tensors were compared
  int unread = 0;  // so many could not be: one tape or both had freed them, or they were overwritten since
  double tolerance = 0;

  bool same() const { return difference == Difference::none; }
};

std::string_view name_of(Comparison::Difference difference);

/// Compares two tapes step by step, in the order of the tape: kind, op, dtype, shape, inputs, settings, role,
/// path, then the value, to the first step where they part. Where all values agree, compares the blame in the
/// order in which `backward` came by, from the last step to the first: what it parts at first made the others
/// differ. A parameter of a tape made with Keep::leaves is compared by what it has collected.
///
/// Scalars of a step are compared one by one, each to a part of its own size.
///
/// Values that one tape no longer has are counted as unread, not as different. Names, lines and times are not
/// compared. Linear in the shorter tape; changes neither. Throws Error for a tolerance below 0 or NaN.
Comparison compare(const Tape& a, const Tape& b, const CompareOptions& options = {});

/// In words: that they are the same, and what was compared; or the step where they part, with what stands
/// there in both.
std::string to_string(const Comparison& comparison);

}  // namespace pencil

template <>
struct fmt::formatter<pencil::Comparison> {
  constexpr auto parse(fmt::format_parse_context& context) { return context.begin(); }
  auto format(const pencil::Comparison& comparison, fmt::format_context& context) const {
    const std::string text = pencil::to_string(comparison);
    return std::copy(text.begin(), text.end(), context.out());
  }
};
