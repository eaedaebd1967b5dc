#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "autograd/tape.hpp"

namespace pencil {

/// One reading of a step: the step that reads it, and as which of its inputs.
struct Use {
  int step;
  int input;
  friend bool operator==(const Use&, const Use&) = default;
};

/// Who reads each step of a tape: the arrows of the tape the other way round. Made once, in time and memory
/// linear in the tape; it knows the steps there were then, and needs the tape no longer.
class Uses {
 public:
  explicit Uses(const Tape& tape);

  /// How many steps the tape had.
  int steps() const { return static_cast<int>(first_.size()) - 1; }
  /// How many readings there are in all; plain numbers are read from no step and count for none.
  std::size_t size() const { return uses_.size(); }
  /// The readings of a step, in the order of the tape; x * x reads x twice. Throws Error for a step that is
  /// not there.
  std::span<const Use> of(int step) const;

 private:
  std::vector<std::size_t> first_;  // where each step's readings begin in uses_; one more at the end
  std::vector<Use> uses_;
};

}  // namespace pencil
