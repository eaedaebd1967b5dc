#include "autograd/inspect/outline.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace pencil::inspect {

namespace {

// Whether a path is `outer` or lies below it.
bool within(std::string_view path, std::string_view outer) {
  return path.starts_with(outer) && (path.size() == outer.size() || path[outer.size()] == '.');
}

}  // namespace

Outline::Outline(const Tape& tape, const Uses& uses) : call_of_(static_cast<std::size_t>(uses.steps()), -1) {
  int innermost = -1;
  for (int i = 0; i < uses.steps(); ++i) {
    const Step step = tape.step(i);
    if (step.is_leaf()) continue;
    call_of_[static_cast<std::size_t>(i)] = innermost = enter(i, step.path(), innermost);
    if (innermost >= 0) calls_[static_cast<std::size_t>(innermost)].last = i;
  }
  for (int i = 0; i < uses.steps(); ++i) {
    int& call = call_of_[static_cast<std::size_t>(i)];
    if (tape.step(i).is_leaf()) call = around_readers(tape, uses, i);
    if (call >= 0) ++calls_[static_cast<std::size_t>(call)].steps;
  }
  for (std::size_t i = calls_.size(); i-- > 0;) {
    if (calls_[i].parent < 0) continue;
    Call& outer = calls_[static_cast<std::size_t>(calls_[i].parent)];
    outer.steps += calls_[i].steps;
    outer.last = std::max(outer.last, calls_[i].last);
  }
  count_turns();
}

// The call with this path that goes on or begins at a step, where `innermost` was the one before.
int Outline::enter(int step, std::string_view path, int innermost) {
  while (innermost >= 0 && !within(path, call(innermost).path)) innermost = call(innermost).parent;
  while (!path.empty() && (innermost < 0 || call(innermost).path.size() < path.size())) {
    const std::size_t known = innermost < 0 ? 0 : call(innermost).path.size() + 1;
    const std::string_view next = path.substr(0, path.find('.', known));
    calls_.push_back({.path = next,
                      .parent = innermost,
                      .depth = innermost < 0 ? 1 : call(innermost).depth + 1,
                      .first = step});
    innermost = static_cast<int>(calls_.size()) - 1;
  }
  return innermost;
}

int Outline::around_readers(const Tape& tape, const Uses& uses, int step) const {
  const Step leaf = tape.step(step);
  if (leaf.kind() != StepKind::parameter && !leaf.name().empty()) return -1;
  std::optional<int> around;
  for (const Use& use : uses.of(step)) {
    if (tape.step(use.step).gradient_of() >= 0) continue;  // a recorded sweep reads what the model read
    const int reader = call_of_[static_cast<std::size_t>(use.step)];
    around = around ? common(*around, reader) : reader;
  }
  return around.value_or(-1);
}

int Outline::common(int a, int b) const {
  while (a != b) {
    if (a < 0 || b < 0) return -1;
    if (call(a).depth < call(b).depth) std::swap(a, b);
    a = call(a).parent;
  }
  return a;
}

void Outline::count_turns() {
  std::unordered_map<std::string_view, int> turns;
  for (Call& call : calls_) call.turn = ++turns[call.path];
  for (Call& call : calls_) call.turns = turns[call.path];
}

}  // namespace pencil::inspect
