#pragma once

#include <fmt/format.h>

#include <atomic>
#include <istream>
#include <ostream>
#include <utility>

namespace pencil::imdb {

/// What a command talks to: the streams of the process, or those of a test.
struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  int columns = 80;
  /// Set by Ctrl-C; training looks at it after every step.
  const std::atomic<bool>* interrupted = nullptr;

  /// Writes to `out` and flushes, so that whoever waits for a line gets it.
  template <class... Arguments>
  void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    out << fmt::format(text, std::forward<Arguments>(arguments)...) << std::flush;
  }
  bool stop() const { return interrupted != nullptr && interrupted->load(); }
};

}  // namespace pencil::imdb
