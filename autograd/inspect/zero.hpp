#pragma once

// Where a gradient that is exactly zero became so.

#include <cstdint>
#include <string>
#include <vector>

#include "autograd/inspect/uses.hpp"
#include "autograd/tape.hpp"

namespace pencil::inspect {

/// Some numbers, one after the other, of a step: from `low` to before `high`.
struct Numbers {
  int step;
  std::int64_t low, high;
};

/// How a gradient ended before it got to a step.
enum class Ending : std::uint8_t {
  flat,    // a reader's local derivatives are 0
  cancel,  // a reader's contributions add up to 0
  apart,   // what several readers give adds up to 0
  start    // backward was given 0 here
};

/// A place where it ended.
struct ZeroPlace {
  Ending ending;
  int step;            // the reader; of `apart` the step that is read
  int input;           // as which of its inputs, or −1
  std::int64_t count;  // for so many numbers
  std::int64_t of;     // of so many that were followed to here
  std::int64_t first;  // the first of them, in the input of the reader, or in the step itself
};

struct ZeroTrace {
  std::vector<ZeroPlace> places;   // in the order of the tape
  std::vector<std::string> stuck;  // why some reader could not be asked
};

/// Follows numbers whose gradient is exactly zero down the tape, through what they change, to the steps that
/// got a gradient and passed none on. Runs two rules and two forwards for each reader on the way; linear in
/// the tape, never recursive. Needs a tape with Keep::all on which backward has run.
ZeroTrace trace_zero(const Tape& tape, const Uses& uses, const Numbers& numbers);

/// The reader that shows that the gradient of those numbers is no more than what rounding leaves of
/// contributions that cancel, within it or between it and others: under random signs it would pass on far
/// more. −1 if none.
int cancels(const Tape& tape, const Uses& uses, const Numbers& numbers);

}  // namespace pencil::inspect
