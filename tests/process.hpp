// Runs a program as a user would, and keeps what came back.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace pencil::tests {

/// Where a program that may be installed is found along PATH; nothing where it is not. Says then, for ctest
/// to count the test as skipped, that it is skipped.
std::optional<std::filesystem::path> installed(const std::string& name);

struct Ran {
  int status = -1;  // the exit code; 128 and the signal's number where a signal ended it, as in a shell
  std::string out;
  std::string err;
};

/// The program gets `input` on its standard input, and no terminal. Throws std::runtime_error where it cannot
/// be started.
Ran run(const std::filesystem::path& program, const std::vector<std::string>& arguments,
        const std::string& input = "");

}  // namespace pencil::tests
