#include "autograd/inspect/uses.hpp"

namespace pencil {

namespace {

// Calls f(step, input, from) for every reading of a step by another.
template <class F>
void for_each_use(const Tape& tape, F f) {
  for (int i = 0; i < tape.size(); ++i) {
    const Step step = tape.step(i);
    for (int input = 0; input < step.inputs(); ++input)
      if (const int from = step.input_step(input); from >= 0) f(i, input, static_cast<std::size_t>(from));
  }
}

}  // namespace

Uses::Uses(const Tape& tape) : first_(static_cast<std::size_t>(tape.size()) + 1) {
  for_each_use(tape, [&](int, int, std::size_t from) { ++first_[from + 1]; });
  for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
  uses_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for_each_use(tape, [&](int step, int input, std::size_t from) { uses_[next[from]++] = {step, input}; });
}

std::span<const Use> Uses::of(int step) const {
  if (step < 0 || step >= steps()) fail("[uses] there is no step {}; the tape has {}", step, steps());
  const auto i = static_cast<std::size_t>(step);
  return std::span(uses_).subspan(first_[i], first_[i + 1] - first_[i]);
}

}  // namespace pencil
