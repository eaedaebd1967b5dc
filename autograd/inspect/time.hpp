#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

struct TimingOptions {
  Glossary glossary = Glossary::pencil;
  /// Modules are told apart by so many parts of their path: "attend.query" counts for "attend" at 1. −1: all
  /// parts, 0: none.
  int depth = -1;
};

/// What some steps of a timed tape took together.
struct TimingRow {
  std::string word;           ///< in the glossary's words; the op's own in brackets where it is another
  int calls = 0;              ///< steps that were timed
  std::int64_t forward = 0;   ///< nanoseconds
  std::int64_t backward = 0;  ///< nanoseconds in `backward`: their rules, and adding up what they gave
  double share = 0;           ///< of the time of all steps: 0 to 1
  std::optional<double> work =
      {};  ///< floating-point operations in that time, of the steps whose op says them (OpParts::work)

  std::int64_t total() const { return forward + backward; }
  /// Work over time, in 10⁹ operations a second; nothing where there is none of either.
  std::optional<double> gigaflops() const;
};

/// A module and the words of its own steps (those of modules inside it count for these), the longest first.
struct TimingModule {
  std::string path;  ///< "" outside of all
  TimingRow all;
  std::vector<TimingRow> rows;
};

/// Where the time of a tape went.
struct Timing {
  TimingRow all;
  std::vector<TimingModule> modules;  ///< the longest first
};

/// Where the time went, by module and word, of a tape made with TapeOptions::time; throws Error for another.
/// Linear in the tape.
Timing timing(const Tape& tape, const TimingOptions& options = {});

/// The table of it. Times are in the unit that suits the longest.
std::string to_string(const Timing& timing);

/// The number of operations on floating-point numbers that a step took, forward and in `backward` (none where
/// that did not reach it); nothing where the op does not say (OpParts::work).
std::optional<Work> work_of(const Tape& tape, const Step& step);

struct TraceOptions {
  Glossary glossary = Glossary::pencil;
  bool lines = false;  ///< also the source line of each step
};

/// The times of a timed tape as JSON in Chrome's Trace Event Format, which Perfetto (ui.perfetto.dev) and
/// chrome://tracing open: a slice for each step forward ("cat":"forward") and backward, in microseconds since
/// the tape was made, inside a slice for each module of its path ("cat":"module"). Neighbouring steps of a
/// path stand in one slice, so two calls of a module on end look like one. Strict JSON for every name. Throws
/// Error for a tape that was not timed.
std::string chrome_trace(const Tape& tape, const TraceOptions& options = {});
/// The same in pieces of some tens of kilobytes.
void chrome_trace(const Tape& tape, const TraceOptions& options,
                  const std::function<void(std::string_view)>& write);

}  // namespace pencil
