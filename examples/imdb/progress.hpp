#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "examples/imdb/console.hpp"
#include "optim/fit.hpp"

namespace pencil::imdb {

/// Where training stands, for a bar.
struct Standing {
  int epoch = 1, epochs = 1;
  std::int64_t done = 0, items = 1;  ///< reviews of this epoch
  double loss = 0, accuracy = 0;     ///< of the epoch so far
  double speed = 0;                  ///< reviews a second
};

/// One line of at most `columns` characters: a bar, loss, accuracy, speed, and the time that is left for all
/// epochs, if the terminal is wide enough for them.
std::string progress_bar(const Standing& standing, int columns);

/// Keeps a bar up to date on the last line of a terminal; writes nothing where the output is none. The line
/// is empty again after `clear` and when this ends.
class Progress {
 public:
  Progress(Console& console, std::int64_t items, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void step(const optim::StepProgress& step);
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  Console& console_;
  std::int64_t items_;
  bool on_;
  bool shown_ = false;
  Clock::time_point epoch_start_ = Clock::now(), last_ = epoch_start_;
};

}  // namespace pencil::imdb
