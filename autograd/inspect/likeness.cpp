#include "autograd/inspect/likeness.hpp"

#include <algorithm>

namespace pencil::inspect {

namespace {

bool digit(char c) { return c >= '0' && c <= '9'; }

std::size_t past_digits(std::string_view text, std::size_t at) {
  while (at < text.size() && digit(text[at])) ++at;
  return at;
}

bool alike(std::string_view a, std::string_view b) {
  std::size_t i = 0, k = 0;
  for (; i < a.size() && k < b.size(); ++i, ++k) {
    if (digit(a[i]) && digit(b[k])) {
      i = past_digits(a, i) - 1;
      k = past_digits(b, k) - 1;
    } else if (a[i] != b[k]) {
      return false;
    }
  }
  return i == a.size() && k == b.size();
}

std::uint64_t likeness(std::uint64_t hash, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    hash = mixed(hash, digit(text[i]) ? '0' : static_cast<unsigned char>(text[i]));
    if (digit(text[i])) i = past_digits(text, i) - 1;
  }
  return mixed(hash, text.empty());
}

std::string_view op_of(const Step& step) {
  const bool has = step.kind() == StepKind::op || step.kind() == StepKind::paused;
  return has ? std::string_view(step.op().word()) : std::string_view();
}

}  // namespace

bool alike(const Step& a, const Step& b) {
  if (a.kind() != b.kind() || a.dtype() != b.dtype() || a.inputs() != b.inputs() || a.role() != b.role() ||
      op_of(a) != op_of(b) || (a.gradient_of() < 0) != (b.gradient_of() < 0) || !(a.shape() == b.shape()) ||
      !alike(a.path(), b.path()) || !alike(a.name(), b.name()))
    return false;
  for (int i = 0; i < a.inputs(); ++i)
    if ((a.input_step(i) < 0) != (b.input_step(i) < 0)) return false;
  return true;
}

std::uint64_t likeness(const Step& step) {
  std::uint64_t hash =
      mixed(static_cast<std::uint64_t>(step.kind()), static_cast<std::uint64_t>(step.dtype()));
  for (const std::int64_t size : step.shape()) hash = mixed(hash, static_cast<std::uint64_t>(size));
  hash = mixed(hash, static_cast<std::uint64_t>(step.inputs()));
  for (const std::string_view text : {op_of(step), step.role(), step.path(), step.name()})
    hash = likeness(hash, text);
  return hash;
}

}  // namespace pencil::inspect
