#pragma once

// The modules of a tape as boxes in boxes: what its pictures draw around the steps.

#include <string_view>
#include <vector>

#include "autograd/inspect/uses.hpp"
#include "autograd/tape.hpp"

namespace pencil::inspect {

/// One call of a module: steps in a row that were recorded under its path, with the calls of its own modules
/// among them.
struct Call {
  std::string_view path;  // "attend.query", valid while the tape lives
  int parent = -1;        // the call around it, or −1
  int depth = 1;          // how many calls it stands in, itself included
  int first = 0;          // the op it begins with
  int last = 0;           // and ends with; between them stand, of other calls, leaves only
  int steps = 0;          // how many steps it holds, those of calls inside included
  int turn = 1;           // the module's first call on this tape, its second …
  int turns = 1;          // of so many

  /// The last part of the path: "query".
  std::string_view name() const { return path.substr(path.rfind('.') + 1); }
};

/// Which call each step belongs to. Since a call is a stretch of the tape, calls depend on each other in the
/// order of the tape, as steps do, and never in a circle. A parameter or constant belongs to the innermost
/// call around all its readers; a constant with a name is what the model was given and belongs to none.
/// Linear in the tape and its paths.
class Outline {
 public:
  Outline(const Tape& tape, const Uses& uses);

  /// Each after the one around it.
  const std::vector<Call>& calls() const { return calls_; }
  const Call& call(int number) const { return calls_[static_cast<std::size_t>(number)]; }
  /// The innermost call a step belongs to, or −1.
  int call_of(int step) const { return call_of_[static_cast<std::size_t>(step)]; }

 private:
  int enter(int step, std::string_view path, int innermost);
  int around_readers(const Tape& tape, const Uses& uses, int step) const;
  int common(int a, int b) const;
  void count_turns();

  std::vector<Call> calls_;
  std::vector<int> call_of_;
};

}  // namespace pencil::inspect
