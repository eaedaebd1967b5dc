#include "autograd/inspect/nonfinite.hpp"

#include <unordered_map>

#include "autograd/inspect/replay.hpp"
#include "autograd/tape_body.hpp"

namespace pencil {

namespace {

using detail::first_not_finite;

bool not_finite(const Tensor& x) { return x.defined() && first_not_finite(x) >= 0; }

// The steps after a culprit that have an input from it and are no longer finite themselves.
std::vector<int> passed_on_forward(const Tape& tape, int culprit) {
  std::vector<bool> touched(static_cast<std::size_t>(tape.size()));
  touched[static_cast<std::size_t>(culprit)] = true;
  std::vector<int> steps;
  for (int i = culprit + 1; i < tape.size(); ++i) {
    const Step step = tape.step(i);
    bool reads = false;
    for (int k = 0; k < step.inputs() && !reads; ++k)
      reads = step.input_step(k) >= 0 && touched[static_cast<std::size_t>(step.input_step(k))];
    if (!reads || !not_finite(step.raw_output())) continue;
    touched[static_cast<std::size_t>(i)] = true;
    steps.push_back(i);
  }
  return steps;
}

// The steps whose gradients are not finite because that of `culprit`'s input is not.
std::vector<int> passed_on_backward(const Tape& tape, const std::vector<bool>& bad, int first) {
  std::vector<bool> touched(bad.size());
  touched[static_cast<std::size_t>(first)] = true;
  std::vector<int> steps;
  for (int i = first; i >= 0; --i) {
    if (!touched[static_cast<std::size_t>(i)]) continue;
    const Step step = tape.step(i);
    if (i != first) steps.push_back(i);
    for (int k = 0; k < step.inputs(); ++k)
      if (const int from = step.input_step(k); from >= 0 && bad[static_cast<std::size_t>(from)])
        touched[static_cast<std::size_t>(from)] = true;
  }
  return steps;
}

std::optional<NonFinite> in_forward(const Tape& tape) {
  for (int i = 0; i < tape.size(); ++i)
    if (auto found = detail::nonfinite_forward(tape.step(i))) {
      found->passed_on = passed_on_forward(tape, i);
      return found;
    }
  return std::nullopt;
}

std::optional<NonFinite> in_backward(const Tape& tape) {
  const int from = tape.backward_from();
  if (from < 0) return std::nullopt;
  std::vector<bool> bad(static_cast<std::size_t>(from) + 1);
  bool any = false;
  for (int i = 0; i <= from; ++i) {
    bad[static_cast<std::size_t>(i)] = not_finite(tape.step(i).gradient());
    any = any || bad[static_cast<std::size_t>(i)];
  }
  if (!any) return std::nullopt;
  if (bad.back()) {
    NonFinite found =
        detail::nonfinite_held(tape.step(from), tape.step(from).gradient(), NonFinite::Origin::upstream);
    found.passed_on = passed_on_backward(tape, bad, from);
    return found;
  }
  // The sweep once more, as far as it concerns the gradients that are not finite.
  std::unordered_map<int, Tensor> totals;
  for (int i = from; i >= 0; --i) {
    const Step step = tape.step(i);
    if (step.kind() != StepKind::op || !step.gradient().defined()) continue;
    const Needs all = inspect::needs_of(tape, step);
    Needs needs;
    bool doubtful = false;
    for (int k = 0; k < step.inputs(); ++k) {
      const auto bit = static_cast<std::size_t>(k);
      if (!all[bit] || !bad[static_cast<std::size_t>(step.input_step(k))]) continue;
      needs.set(bit);
      doubtful = true;
    }
    if (!doubtful || inspect::readable(step) != inspect::Readable::yes) continue;
    const Gradients given = inspect::rule_again(step, step.gradient(), needs);
    std::optional<NonFinite> found = detail::nonfinite_rule(step, step.gradient(), needs, given);
    int first = found ? step.input_step(found->input) : -1;
    for (int k = 0; k < step.inputs() && !found; ++k) {
      const Tensor& gradient = given[static_cast<std::size_t>(k)];
      if (!needs[static_cast<std::size_t>(k)] || !gradient.defined()) continue;
      Tensor& total = totals[step.input_step(k)];
      const Tensor sum = total.defined() ? added(total, gradient) : gradient;
      first = step.input_step(k);
      if (total.defined()) found = detail::nonfinite_sum(tape.step(first), total, gradient, sum);
      total = sum;
    }
    if (!found) continue;
    found->passed_on = passed_on_backward(tape, bad, first);
    if (found->origin == NonFinite::Origin::rule) found->passed_on.insert(found->passed_on.begin(), first);
    return found;
  }
  return std::nullopt;
}

// A constant that holds an infinity, of those that what the tape led to comes from through infinities.
std::optional<NonFinite> in_constants(const Tape& tape) {
  int last = tape.backward_from() >= 0 ? tape.backward_from() : tape.size() - 1;
  if (last < 0 || !not_finite(tape.step(last).raw_output())) return std::nullopt;
  std::vector<bool> touched(static_cast<std::size_t>(last) + 1);
  touched.back() = true;
  int first = -1;
  for (int i = last; i >= 0; --i) {
    if (!touched[static_cast<std::size_t>(i)]) continue;
    const Step step = tape.step(i);
    if (step.kind() != StepKind::op && step.kind() != StepKind::paused) first = i;
    for (int k = 0; k < step.inputs(); ++k)
      if (const int from = step.input_step(k); from >= 0 && not_finite(step.raw_input(k)))
        touched[static_cast<std::size_t>(from)] = true;
  }
  if (first < 0) return std::nullopt;
  NonFinite found =
      detail::nonfinite_held(tape.step(first), tape.step(first).raw_output(), NonFinite::Origin::leaf);
  found.passed_on = passed_on_forward(tape, first);
  return found;
}

}  // namespace

std::optional<NonFinite> first_nonfinite(const Tape& tape) {
  if (const auto& stopped = detail::body_of(tape).nonfinite) return *stopped;
  if (auto found = in_forward(tape)) return found;
  if (auto found = in_backward(tape)) return found;
  return in_constants(tape);
}

}  // namespace pencil
