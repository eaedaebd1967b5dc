#pragma once

// What a dump shows, before it is worded as text or as JSON.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/inspect/dump.hpp"
#include "autograd/inspect/facts.hpp"
#include "autograd/inspect/fold.hpp"

namespace pencil::inspect {

class Content {
 public:
  /// Throws Error for options that make no sense.
  Content(const Tape& tape, const DumpOptions& options);

  const Tape& tape() const { return tape_; }
  const Facts& facts() const { return facts_; }
  /// How many steps are shown.
  int shown() const { return static_cast<int>(shown_.size()); }
  const std::vector<Line>& lines() const { return lines_; }

  /// The step at a position; a line speaks of the one at its last.
  Step step(int position) const { return tape_.step(shown_[static_cast<std::size_t>(position)]); }
  /// The module a position is folded into.
  std::string_view module(int position) const { return module_of(step(position).path(), fold_); }
  /// The steps outside a module that it reads, the last time; in order, each once.
  std::vector<int> read_by_module(const Line& line) const;
  /// What all steps of a line hold, where `.bytes` asks for it.
  std::int64_t bytes(const Line& line) const;
  /// How long all steps of a line took together, in nanoseconds; −1 where none was measured.
  std::int64_t forward_time(const Line& line) const { return time(line, &Step::forward_time); }
  std::int64_t backward_time(const Line& line) const { return time(line, &Step::backward_time); }

 private:
  std::int64_t time(const Line& line, std::int64_t (Step::*of)() const) const;

  const Tape& tape_;
  int fold_;
  Facts facts_;
  std::vector<int> shown_;
  std::vector<Line> lines_;
  std::vector<std::int64_t> bytes_;  // of the first i steps that are shown
};

/// Gathers a long text and hands it over in pieces of some tens of kilobytes.
class Pieces {
 public:
  explicit Pieces(const std::function<void(std::string_view)>& write);
  std::string& text() { return text_; }
  /// To be called now and then: writes the text if it has grown to a piece.
  void pass();
  /// Writes what is left.
  void end();

 private:
  const std::function<void(std::string_view)>& write_;
  std::string text_;
};

/// Writes pieces to a file; throws Error for `who` if it cannot.
std::function<void(std::string_view)> to_file(std::FILE* file, const char* who);

}  // namespace pencil::inspect
