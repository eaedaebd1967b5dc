#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

struct MemoryOptions {
  Glossary glossary = Glossary::pencil;
  /// Modules are told apart by so many parts of their path; −1: all, 0: none.
  int depth = -1;
  /// How many of the largest steps, and of the tensors held from outside, are listed.
  int most = 10;
};

/// Bytes of numbers that steps hold: their values, what their forward saved for their rule, and their blame.
/// Of Scalars `saved` is the slopes and what their arithmetic is, and there is room for blame from the start.
struct StepBytes {
  std::int64_t values = 0;
  std::int64_t saved = 0;
  std::int64_t blame = 0;

  std::int64_t total() const { return values + saved + blame; }
};

struct MemoryModule {
  std::string path;  ///< "" outside of all
  int steps = 0;
  StepBytes bytes;
};

struct MemoryStep {
  int step = 0;
  std::string word;
  std::string name;
  StepBytes bytes;
};

/// Numbers of the tape that would stay when the tape ends, because tensors outside hold them too.
struct MemoryHeld {
  int step = 0;
  std::string word;
  std::string what;  ///< "value", "saved" or "blame"
  std::string name;  ///< of the tensor, "" if it has none; of the parameter whose gradient it is
  int handles = 0;   ///< how many handles outside hold it
  std::int64_t bytes = 0;
};

/// What a tape holds in memory. Numbers that several tensors share (a reshape and its input, a gradient
/// handed on) count once, at the first step that holds them.
struct Memory {
  StepBytes bytes;
  std::int64_t parameters = 0;   ///< of bytes.values: those of parameters, which live on without the tape
  std::int64_t records = 0;      ///< beside the numbers: the tape's lists and the heads of its tensors
  std::vector<StepBytes> steps;  ///< by step
  std::vector<MemoryModule> modules;  ///< the largest first
  std::vector<MemoryStep> largest;    ///< steps, the largest first

  /// The most bytes of numbers there were at a time, up to now, without what ops use while they run. Unknown
  /// once a tape made with Keep::leaves has freed what it passed.
  std::optional<std::int64_t> peak;
  /// What it would have been with Keep::leaves: numbers are freed as the sweep passes, gradients come and go.
  /// Unknown before `backward`.
  std::optional<std::int64_t> peak_with_leaves;
  /// How many steps stand where Detail::fast would have recorded one for all, and the numbers that it would
  /// not have kept: an upper bound, as a fused op may save something in their stead.
  int parts = 0;
  std::int64_t parts_bytes = 0;

  std::vector<MemoryHeld>
      held;  ///< the largest first; not the parameters themselves, nor constants, which were there before
  std::int64_t held_bytes = 0;
  int held_tensors = 0;
};

/// Counts what a tape holds, in time and memory linear in the tape.
Memory memory(const Tape& tape, const MemoryOptions& options = {});

/// As text: a line for the whole, a table by module, the largest steps, the peak and what could be saved, and
/// who else holds the tape's tensors.
std::string to_string(const Memory& memory);

}  // namespace pencil
