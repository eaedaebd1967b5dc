#include "tests/paths.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace pencil::tests {

std::filesystem::path golden(const std::string& name) {
  const char* folder = std::getenv("PENCIL_GOLDEN");
  return std::filesystem::path(folder != nullptr ? folder : PENCIL_GOLDEN_FOLDER) / name;
}

std::string golden_text(const std::string& name) {
  std::filesystem::path path = golden(name);
  if (!std::filesystem::exists(path)) path = std::filesystem::path(PENCIL_GOLDEN_FOLDER) / name;
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("there is no golden file " + path.string());
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::filesystem::path program(const std::string& name) {
  return std::filesystem::path(PENCIL_PROGRAM_FOLDER) / name;
}

}  // namespace pencil::tests
