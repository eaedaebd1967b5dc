// The program imdb, run within the test or as a process of its own.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/examples/folder_for_tests.hpp"

namespace pencil::tests {

struct Ran {
  int status = -1;  // the exit status; 128 + the signal's number for a process that was killed
  std::string out, err;
};

struct Terminals {
  bool in = false, out = false;
};

/// Runs a command within this process. `interrupt_at` plays Ctrl-C as soon as that text is printed.
Ran run_imdb(const std::vector<std::string>& words, const std::string& input = "", Terminals terminals = {},
             const std::string& interrupt_at = "");

/// The built program as a process.
class ImdbProcess {
 public:
  /// Standard input is a file with that text.
  explicit ImdbProcess(const std::vector<std::string>& words, const std::string& input = "");
  /// Standard input is the file (a terminal, for one) that the descriptor stands for.
  ImdbProcess(const std::vector<std::string>& words, int input);
  ~ImdbProcess();
  ImdbProcess(const ImdbProcess&) = delete;
  ImdbProcess& operator=(const ImdbProcess&) = delete;

  /// Waits until the program has printed the text; false if it ended before.
  bool wait_for(const std::string& text);
  /// Ctrl-C.
  void interrupt();
  /// Waits for the end.
  Ran finish();

 private:
  void start(const std::vector<std::string>& words, int input);
  bool read_some();

  pid_t process_ = -1;
  int out_ = -1, err_ = -1;
  std::string printed_;
};

/// Twenty short reviews, liked and hated by turns, as CSV.
std::string small_csv();

/// A small model, trained on small_csv() with options of the test's own.
class Trained {
 public:
  explicit Trained(const std::vector<std::string>& more = {});
  std::string data() const { return data_.string(); }
  std::string model() const { return (folder_.path() / "model").string(); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
  std::filesystem::path data_;
};

}  // namespace pencil::tests
