#include "examples/nolan/page.hpp"

#include <map>

namespace pencil::nolan {

std::string numbers(const Tensor& x) { return to_string(x, {.decimals = 3, .whole = 40, .width = 120}); }

void Page::beside(std::string_view label, const Tensor& x) {
  constexpr std::size_t width = 19;
  const std::string indent(width, ' ');
  std::string text = fmt::format("{:{}}", label, width);
  for (const char c : numbers(x)) {
    text += c;
    if (c == '\n') text += indent;
  }
  line("{}", text);
}

void Page::row(const std::string& name, const Tensor& x) {
  label(name, x);
  beside(name, x);
}

void Page::blame(const Tape& tape) {
  std::map<int, std::string_view> named;
  for (const auto& [name, x] : labels_) named[tape.step_of(x)] = name;
  for (int i = tape.size() - 1; i >= 0; --i) {
    const Step step = tape.step(i);
    if (!step.gradient().defined()) continue;
    // Rounding passes blame unchanged: the rounded number's line stands for both.
    if (i + 1 < tape.size() && tape.step(i + 1).word() == "round") continue;
    const auto found = named.find(i);
    beside(found != named.end() ? found->second : word_of(step, Glossary::pencil), step.gradient());
  }
}

}  // namespace pencil::nolan
