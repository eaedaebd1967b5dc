#include "tests/examples/imdb_for_tests.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "autograd/kernels/threads.hpp"
#include "examples/imdb/commands.hpp"
#include "tests/paths.hpp"

namespace pencil::tests {
namespace {

/// Text that raises a flag as soon as it holds another one.
class WatchedText : public std::stringbuf {
 public:
  WatchedText(std::string text, std::atomic<bool>& flag) : text_(std::move(text)), flag_(flag) {}

 protected:
  int sync() override {
    if (!text_.empty() && str().find(text_) != std::string::npos) flag_ = true;
    return 0;
  }

 private:
  std::string text_;
  std::atomic<bool>& flag_;
};

void check(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("cannot ") + what);
}

/// A file without a name that holds the text.
int file_of(const std::string& text) {
  std::FILE* file = std::tmpfile();
  check(file != nullptr, "make a temporary file");
  check(std::fwrite(text.data(), 1, text.size(), file) == text.size() && std::fflush(file) == 0, "write");
  const int descriptor = dup(fileno(file));
  std::fclose(file);
  check(descriptor >= 0 && lseek(descriptor, 0, SEEK_SET) == 0, "rewind");
  return descriptor;
}

std::string content_of(int descriptor) {
  std::string text;
  std::array<char, 4096> piece;
  off_t at = 0;
  for (ssize_t got; (got = pread(descriptor, piece.data(), piece.size(), at)) > 0; at += got)
    text.append(piece.data(), static_cast<std::size_t>(got));
  return text;
}

}  // namespace

Ran run_imdb(const std::vector<std::string>& words, const std::string& input, Terminals terminals,
             const std::string& interrupt_at) {
  const int threads = kernels::threads();
  std::atomic<bool> interrupted{false};
  WatchedText text(interrupt_at, interrupted);
  std::istringstream in(input);
  std::ostream out(&text);
  std::ostringstream err;
  imdb::Console console{.in = in,
                        .out = out,
                        .err = err,
                        .in_is_terminal = terminals.in,
                        .out_is_terminal = terminals.out,
                        .columns = 80,
                        .interrupted = &interrupted};
  const int status = imdb::run(words, console);
  kernels::set_threads(threads);
  return {status, text.str(), err.str()};
}

ImdbProcess::ImdbProcess(const std::vector<std::string>& words, const std::string& input) {
  const int file = file_of(input);
  start(words, file);
  close(file);
}

ImdbProcess::ImdbProcess(const std::vector<std::string>& words, int input) { start(words, input); }

ImdbProcess::~ImdbProcess() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  for (const int descriptor : {out_, err_})
    if (descriptor >= 0) close(descriptor);
}

void ImdbProcess::start(const std::vector<std::string>& words, int input) {
  std::array<int, 2> pipe_ends{};
  check(pipe2(pipe_ends.data(), O_CLOEXEC) == 0, "make a pipe");
  out_ = pipe_ends[0];
  err_ = file_of("");
  const std::string program = tests::program("imdb").string();
  std::vector<std::string> texts{program};
  texts.insert(texts.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& text : texts) arguments.push_back(text.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err_, STDERR_FILENO);
  const int failed = posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  check(failed == 0, ("start " + program).c_str());
}

bool ImdbProcess::read_some() {
  std::array<char, 4096> piece;
  ssize_t got;
  do got = read(out_, piece.data(), piece.size());
  while (got < 0 && errno == EINTR);
  if (got > 0) printed_.append(piece.data(), static_cast<std::size_t>(got));
  return got > 0;
}

bool ImdbProcess::wait_for(const std::string& text) {
  while (printed_.find(text) == std::string::npos)
    if (!read_some()) return false;
  return true;
}

void ImdbProcess::interrupt() { check(kill(process_, SIGINT) == 0, "send the signal"); }

Ran ImdbProcess::finish() {
  while (read_some()) {
  }
  int status = 0;
  check(waitpid(process_, &status, 0) == process_, "wait for the program");
  process_ = -1;
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), printed_, content_of(err_)};
}

std::string small_csv() {
  std::string text = "review,sentiment\n";
  for (int i = 0; i < 10; ++i) {
    text += "a good and clever film number " + std::to_string(i) + ",positive\n";
    text += "a dull and silly film number " + std::to_string(i) + ",negative\n";
  }
  return text;
}

Trained::Trained(const std::vector<std::string>& more) : data_(folder_.write("reviews.csv", small_csv())) {
  std::vector<std::string> words{"train", "--data",   data(),   "--test",       data(), "--max-len",
                                 "8",     "--epochs", "60",     "--batch-size", "4",    "--vocab-size",
                                 "30",    "--quiet",  "--save", model()};
  words.insert(words.end(), more.begin(), more.end());
  if (const Ran ran = run_imdb(words); ran.status != 0) throw std::runtime_error(ran.err);
}

}  // namespace pencil::tests
