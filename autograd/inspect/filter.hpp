#pragma once

// Which steps of a tape are shown.

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

/// Step numbers, both ends included.
struct StepRange {
  int first = 0;
  int last = std::numeric_limits<int>::max();
};

/// What a step must be to be shown; what is not set lets every step through, and what is set must all hold.
struct DumpFilter {
  std::optional<StepRange> steps = {};
  /// The op's word ("matmul", "parameter"), or the one the glossary prints ("WANT").
  std::optional<std::string> word = {};
  std::optional<std::string> role = {};
  /// A module path and all below it: "attend" shows "attend.query" too. A parameter goes by its name as well.
  std::optional<std::string> path = {};
  /// This step and all it was computed from.
  std::optional<int> ancestors_of = {};
  /// This step and all that was computed from it. With ancestors_of: the ways from the one to the other.
  std::optional<int> descendants_of = {};
};

namespace inspect {

/// The numbers of the steps that a filter lets through, in order. Throws Error for a range that ends before
/// it begins, and for ancestors or descendants of a step that is not there. Linear in the tape.
std::vector<int> selected(const Tape& tape, const DumpFilter& filter, Glossary glossary);

}  // namespace inspect

}  // namespace pencil
