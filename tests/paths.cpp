#include "tests/paths.hpp"

#include <cstdlib>

namespace pencil::tests {

std::filesystem::path golden(const std::string& name) {
  const char* folder = std::getenv("PENCIL_GOLDEN");
  return std::filesystem::path(folder != nullptr ? folder : PENCIL_GOLDEN_FOLDER) / name;
}

std::filesystem::path program(const std::string& name) {
  return std::filesystem::path(PENCIL_PROGRAM_FOLDER) / name;
}

}  // namespace pencil::tests
