// A small tape to be dumped, and how a dump is read.
#pragma once

#include <optional>
#include <sstream>

#include "tests/inspect/support.hpp"

namespace pencil::tests {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The line of a step.
inline std::string line_of(const std::string& text, int step) {
  for (const std::string& line : lines_of(text)) {
    std::istringstream stream(line);
    if (int number = -1; stream >> number && number == step) return line;
  }
  return "";
}

// Two sticks, a grid, a product and a mark, small enough to be read whole.
struct Small {
  Tensor w = parameter(tensor({{1, 2}, {3, 4.5}}), "attend.query.weight");
  Tensor x = named(tensor({{1, 2}, {0.333, 4}}), "sheet");
  std::optional<Tape> tape;
  Tensor y, z, mark;

  explicit Small(TapeOptions options = {}) {
    tape.emplace(options);
    {
      const Scope outer("attend"), inner("query");
      const Role role("query");
      y = times(x, w);
    }
    z = twice(y);
    mark = rounded(z);
  }
  void backward() { tape->backward(z, {.upstream = full({2, 2}, 0.125)}); }
};

}  // namespace pencil::tests
