#pragma once

// Which lines a dump has: one a step, or modules folded into a line each and repeats rolled up.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "autograd/tape.hpp"

namespace pencil::inspect {

/// One line of a dump. Positions count the steps that are shown, from 0.
struct Line {
  enum Kind : std::uint8_t {
    step,    // one step
    module,  // several consecutive steps of a module
    repeat   // a block of lines, which follow once, as they were the last time
  };
  Kind kind = step;
  int first = 0;  // the positions it stands for, all its repetitions, both ends included
  int last = 0;
  int times = 1;
  int level = 0;  // how many repeats it stands in
  int below = 0;  // of a repeat: how many of the next lines belong to it

  int steps_each_time() const { return (last - first + 1) / times; }
  /// Where its last repetition begins.
  int last_time() const { return last - steps_each_time() + 1; }
};

/// The lines for the steps whose numbers are shown. With a depth of 0 one each. Else consecutive steps whose
/// module paths have the same first `depth` parts come together in one line (but for a constant at its begin:
/// the module was only the first to read it), and a block of lines that comes
/// twice or more in a row is one repeat: its steps are alike (likeness.hpp), and each input moves on from one
/// time to the next by the same number of steps (by as many as the block, or not at all, if it comes only
/// twice). Linear in the steps, but for a factor of how deep repeats stand in each other.
std::vector<Line> lines_of(const Tape& tape, std::span<const int> shown, int depth);

/// The first `depth` parts of a module path; nothing for a shorter path.
std::string_view module_of(std::string_view path, int depth);

}  // namespace pencil::inspect
