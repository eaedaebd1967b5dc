#include "autograd/inspect/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "autograd/inspect/replay.hpp"

namespace pencil::inspect {

std::string places_text(const Shape& shape, std::span<const std::int64_t> places) {
  if (shape.rank() == 0 || places.empty()) return "";
  std::vector<std::int64_t> sorted(places.begin(), places.end());
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());

  // The box around them, from the last axis to the first.
  std::string box = "]";
  std::int64_t holds = 1, stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    std::int64_t least = shape[axis], most = 0;
    for (const std::int64_t place : sorted) {
      least = std::min(least, place / stride % shape[axis]);
      most = std::max(most, place / stride % shape[axis]);
    }
    const std::string range = least == most ? fmt::format("{}", least) : fmt::format("{}…{}", least, most);
    box = fmt::format("{}{}{}", axis > 0 ? ", " : "[", range, box);
    holds *= most - least + 1;
    stride *= shape[axis];
  }
  if (holds == static_cast<std::int64_t>(sorted.size())) return box;

  constexpr std::size_t few = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(few, sorted.size()); ++i)
    text += fmt::format("{}{}", i > 0 ? " " : "", index_text(shape, sorted[i]));
  return sorted.size() > few ? fmt::format("{} … {} more", text, sorted.size() - few) : text;
}

}  // namespace pencil::inspect
