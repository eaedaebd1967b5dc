#include "autograd/inspect/facts.hpp"

#include <algorithm>

namespace pencil::inspect {

Facts::Facts(const Tape& tape) : tape_(tape) {
  for (int i = 0; i < tape.size(); ++i) read(tape.step(i));
}

void Facts::read(const Step& step) {
  parameters_ += step.kind() == StepKind::parameter;
  if (!usual_ && is_float(step.dtype())) usual_ = step.dtype();
  for (int i = 0; i < step.inputs(); ++i) {
    const int from = step.input_step(i);
    if (from < 0) continue;
    const Step input = tape_.step(from);
    if (input.kind() != StepKind::parameter || input.raw_output().version() == step.input_version(i))
      continue;
    const auto [found, is_new] = overwritten_.try_emplace(from, step.input_version(i));
    if (!is_new) found->second = std::min(found->second, step.input_version(i));
  }
}

ValueFact Facts::value(const Step& step) const {
  if (step.kind() == StepKind::paused) return {.state = ValueFact::not_recorded, .tensor = {}};
  if (const auto found = overwritten_.find(step.number()); found != overwritten_.end())
    return {ValueFact::overwritten, step.raw_output(), found->second};
  if (step.kind() == StepKind::scalars && !step.raw_output().defined())
    return {.state = ValueFact::one_by_one, .tensor = {}};
  if (!step.raw_output().defined()) return {.state = ValueFact::freed, .tensor = {}};
  return {ValueFact::known, step.raw_output()};
}

BlameFact Facts::blame(const Step& step) const {
  const StepKind kind = step.kind();
  const auto none = [](BlameFact::State why) { return BlameFact{why, {}}; };
  if (step.gradient().defined()) return {BlameFact::known, step.gradient()};
  if (kind == StepKind::paused || (kind == StepKind::op && !step.op().differentiable()))
    return none(BlameFact::ends_here);
  if (kind == StepKind::foreign) return none(BlameFact::of_another_tape);
  if (kind == StepKind::parameter && !step.needs_gradient()) return none(BlameFact::frozen);
  if (!step.needs_gradient()) return none(BlameFact::not_wanted);
  if (tape_.backward_from() < 0) return none(BlameFact::not_yet);
  if (!step.reached()) return none(BlameFact::none_came);
  if (kind == StepKind::scalars) return none(BlameFact::one_by_one);
  if (kind == StepKind::parameter && step.raw_output().has_grad())
    return {BlameFact::known, step.raw_output().grad()};
  return none(BlameFact::freed);
}

std::string_view name_of(BlameFact::State state) {
  switch (state) {
    case BlameFact::known:
      return "known";
    case BlameFact::ends_here:
      return "ends here";
    case BlameFact::of_another_tape:
      return "of another tape";
    case BlameFact::frozen:
      return "frozen";
    case BlameFact::not_wanted:
      return "not wanted";
    case BlameFact::not_yet:
      return "not yet";
    case BlameFact::none_came:
      return "none came";
    case BlameFact::one_by_one:
      return "one by one";
    case BlameFact::freed:
      break;
  }
  return "freed";
}

}  // namespace pencil::inspect
