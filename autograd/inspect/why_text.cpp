#include <fmt/format.h>

#include <array>

#include "autograd/inspect/why.hpp"

namespace pencil {

std::string_view name_of(Cause cause) {
  constexpr std::array<std::string_view, 16> names{
      "it flows",   "frozen",        "of another tape", "of a tape that has ended",
      "a constant", "never used",    "not on a path",   "paused",
      "detached",   "no derivative", "no backward yet", "another loss",
      "freed",      "it is 0",       "it cancels",      "unheld"};
  return names[static_cast<std::size_t>(cause)];
}

std::string to_string(const Why& why, bool lines) {
  std::string text = fmt::format("{}: {}\n", why.asked, name_of(why.cause()));
  for (std::size_t i = 0; i < why.findings.size(); ++i) {
    const Finding& each = why.findings[i];
    text += i == 0 ? "  " : fmt::format("  also {}: ", name_of(each.cause));
    text += each.text;
    if (lines && each.where.line()) text += fmt::format(" ({})", to_string(each.where));
    text += '\n';
  }
  return text;
}

}  // namespace pencil
