#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "examples/imdb/commands.hpp"

namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// The first Ctrl-C asks training to end after its step, a second one kills as usual.
void end_training_on_interrupt() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
}

int columns_of_terminal() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  if (!words.empty() && words.front() == "train") end_training_on_interrupt();
  pencil::imdb::Console console{.in = std::cin,
                                .out = std::cout,
                                .err = std::cerr,
                                .in_is_terminal = isatty(STDIN_FILENO) == 1,
                                .out_is_terminal = isatty(STDOUT_FILENO) == 1,
                                .columns = columns_of_terminal(),
                                .interrupted = &interrupted};
  return pencil::imdb::run(words, console);
}
