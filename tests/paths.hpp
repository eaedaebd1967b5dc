// Where tests find things.
#pragma once

#include <filesystem>
#include <string>

namespace pencil::tests {

/// A golden file: in the folder that the environment variable PENCIL_GOLDEN names, else in tests/golden.
std::filesystem::path golden(const std::string& name);

/// What a program should print: the text of the golden file `name` in the folder that PENCIL_GOLDEN names if
/// it is there (that folder may hold numbers only), else in tests/golden. Throws std::runtime_error where
/// there is none.
std::string golden_text(const std::string& name);

/// A program that was built from examples/, for tests that run it as a user would.
std::filesystem::path program(const std::string& name);

}  // namespace pencil::tests
