#include "autograd/inspect/filter.hpp"

#include <cstddef>

namespace pencil::inspect {

namespace {

using Marks = std::vector<bool>;  // a step each

void check(const Tape& tape, const DumpFilter& filter) {
  if (filter.steps && (filter.steps->first < 0 || filter.steps->last < filter.steps->first))
    fail("[filter] steps {} to {} are no range; need 0 ≤ first ≤ last", filter.steps->first,
         filter.steps->last);
  const auto there = [&](std::optional<int> step, const char* what) {
    if (step && (*step < 0 || *step >= tape.size()))
      fail("[filter] there is no step {} to show the {} of; this tape has {}", *step, what, tape.size());
  };
  there(filter.ancestors_of, "ancestors");
  there(filter.descendants_of, "descendants");
}

// Inputs have smaller numbers than their step, so one pass down the tape meets every reader before what it
// read, and one pass up meets every input before its readers.
Marks ancestors(const Tape& tape, int of) {
  Marks marks(static_cast<std::size_t>(tape.size()));
  marks[static_cast<std::size_t>(of)] = true;
  for (int i = of; i >= 0; --i) {
    if (!marks[static_cast<std::size_t>(i)]) continue;
    const Step step = tape.step(i);
    for (int k = 0; k < step.inputs(); ++k)
      if (step.input_step(k) >= 0) marks[static_cast<std::size_t>(step.input_step(k))] = true;
  }
  return marks;
}

Marks descendants(const Tape& tape, int of) {
  Marks marks(static_cast<std::size_t>(tape.size()));
  marks[static_cast<std::size_t>(of)] = true;
  for (int i = of + 1; i < tape.size(); ++i) {
    const Step step = tape.step(i);
    for (int k = 0; k < step.inputs(); ++k)
      if (step.input_step(k) >= 0 && marks[static_cast<std::size_t>(step.input_step(k))])
        marks[static_cast<std::size_t>(i)] = true;
  }
  return marks;
}

bool under(std::string_view path, std::string_view module) {
  return module.empty() || path == module ||
         (path.size() > module.size() && path.starts_with(module) && path[module.size()] == '.');
}

bool says_yes(const DumpFilter& filter, const Step& step, Glossary glossary) {
  if (filter.word && step.word() != *filter.word && word_of(step, glossary) != *filter.word) return false;
  if (filter.role && step.role() != *filter.role) return false;
  const bool leaf = step.is_leaf();
  return !filter.path || under(step.path(), *filter.path) || (leaf && under(step.name(), *filter.path));
}

}  // namespace

std::vector<int> selected(const Tape& tape, const DumpFilter& filter, Glossary glossary) {
  check(tape, filter);
  const Marks above = filter.ancestors_of ? ancestors(tape, *filter.ancestors_of) : Marks();
  const Marks below = filter.descendants_of ? descendants(tape, *filter.descendants_of) : Marks();
  const StepRange range = filter.steps.value_or(StepRange{});
  std::vector<int> steps;
  for (int i = range.first; i < tape.size() && i <= range.last; ++i) {
    if (!above.empty() && !above[static_cast<std::size_t>(i)]) continue;
    if (!below.empty() && !below[static_cast<std::size_t>(i)]) continue;
    if (says_yes(filter, tape.step(i), glossary)) steps.push_back(i);
  }
  return steps;
}

}  // namespace pencil::inspect
