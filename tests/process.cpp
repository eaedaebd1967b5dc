#include "tests/process.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <system_error>

extern char** environ;

namespace pencil::tests {

namespace {

// Whole files on all three streams: nothing waits for anything, whatever is written in which order.
class Stream {
 public:
  Stream() : file_(std::tmpfile(), &std::fclose) {
    if (!file_) throw std::system_error(errno, std::generic_category(), "a temporary file");
  }
  int number() const { return fileno(file_.get()); }
  void write(const std::string& text) {
    if (std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size())
      throw std::runtime_error("a temporary file could not be written");
    std::rewind(file_.get());
  }
  std::string read() {
    std::rewind(file_.get());
    std::string text;
    std::array<char, 4096> part;
    for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), file_.get())) > 0;)
      text.append(part.data(), n);
    return text;
  }

 private:
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

}  // namespace

std::optional<std::filesystem::path> installed(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const auto found = std::filesystem::path(folder) / name; access(found.c_str(), X_OK) == 0)
      return found;
  std::printf("[skipped] %s is not installed\n", name.c_str());
  return std::nullopt;
}

Ran run(const std::filesystem::path& program, const std::vector<std::string>& arguments,
        const std::string& input) {
  Stream in, out, err;
  in.write(input);
  std::vector<std::string> texts{program.string()};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  posix_spawn_file_actions_adddup2(&streams, in.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&streams, out.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&streams, err.number(), STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawn(&child, texts[0].c_str(), &streams, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&streams);
  if (failed != 0) throw std::system_error(failed, std::generic_category(), texts[0]);

  int state = 0;
  while (waitpid(child, &state, 0) < 0)
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "waiting for " + texts[0]);
  return {WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state), out.read(), err.read()};
}

}  // namespace pencil::tests
