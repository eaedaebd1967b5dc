#include "autograd/inspect/nonfinite.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "autograd/inspect/replay.hpp"
#include "autograd/inspect/statements.hpp"
#include "autograd/tape_body.hpp"

namespace pencil {

namespace {

using detail::first_not_finite;

bool not_finite(const Tensor& x) { return x.defined() && first_not_finite(x) >= 0; }

// The steps whose Scalars are not all finite: their values, or the gradients that came to them.
class BadScalars {
 public:
  explicit BadScalars(const Tape& tape)
      : values_(static_cast<std::size_t>(tape.size())), gradients_(values_) {
    const ScalarStatements scalars(tape);
    for (std::size_t i = 0; i < scalars.size(); ++i) {
      const auto step = static_cast<std::size_t>(scalars.step(i));
      if (!std::isfinite(scalars.value(i))) values_[step] = true;
      if (scalars.reached(i) && !std::isfinite(scalars.gradient(i))) gradients_[step] = true;
    }
  }
  bool value(int step) const { return values_[static_cast<std::size_t>(step)]; }
  bool gradient(int step) const { return gradients_[static_cast<std::size_t>(step)]; }

 private:
  std::vector<bool> values_, gradients_;
};

// The steps after a culprit that have an input from it and are no longer finite themselves.
std::vector<int> passed_on_forward(const Tape& tape, const BadScalars& scalars, int culprit) {
  std::vector<bool> touched(static_cast<std::size_t>(tape.size()));
  touched[static_cast<std::size_t>(culprit)] = true;
  std::vector<int> steps;
  for (int i = culprit + 1; i < tape.size(); ++i) {
    const Step step = tape.step(i);
    bool reads = false;
    for (int k = 0; k < step.inputs() && !reads; ++k)
      reads = step.input_step(k) >= 0 && touched[static_cast<std::size_t>(step.input_step(k))];
    if (!reads || !(not_finite(step.raw_output()) || scalars.value(i))) continue;
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

// The culprit of a step's values, be it an op, a leaf or one of its Scalars.
std::optional<NonFinite> made_by(const Tape& tape, const BadScalars& scalars, int number) {
  const detail::TapeBody& body = detail::body_of(tape);
  if (!scalars.value(number)) return detail::nonfinite_forward(tape.step(number));
  const detail::Run& run = *body.statements->run_of_step(number);
  return body.nonfinite_statement(run.begin, run.end);
}

std::optional<NonFinite> in_forward(const Tape& tape, const BadScalars& scalars) {
  for (int i = 0; i < tape.size(); ++i)
    if (auto found = made_by(tape, scalars, i)) {
      found->passed_on = passed_on_forward(tape, scalars, i);
      return found;
    }
  return std::nullopt;
}

// The sweep once more, as far as it concerns the gradients that are not finite.
class Sweep {
 public:
  Sweep(const Tape& tape, const BadScalars& scalars) : tape_(tape), scalars_(scalars), statements_(tape) {}

  std::optional<NonFinite> run() {
    const int from = tape_.backward_from();
    if (from < 0) return std::nullopt;
    for (int i = 0; i <= from; ++i)
      bad_.push_back(not_finite(tape_.step(i).gradient()) || scalars_.gradient(i));
    if (std::ranges::find(bad_, true) == bad_.end()) return std::nullopt;
    if (const Tensor& upstream = tape_.step(from).gradient(); not_finite(upstream)) {
      NonFinite found = detail::nonfinite_held(tape_.step(from), upstream, NonFinite::Origin::upstream);
      found.passed_on = passed_on_backward(tape_, bad_, from);
      return found;
    }
    for (int i = from; i >= 0; --i) {
      const Step step = tape_.step(i);
      if (auto found = step.kind() == StepKind::scalars ? of_scalars(step) : of_op(step)) return found;
    }
    return std::nullopt;
  }

 private:
  std::optional<NonFinite> of_scalars(const Step& step) {
    if (scalars_.gradient(step.number())) {
      const detail::TapeBody& body = detail::body_of(tape_);
      const detail::Run& run = *body.statements->run_of_step(step.number());
      const bool starts = step.number() == tape_.backward_from() && body.statements->swept_from > 0;
      if (auto found = body.nonfinite_slope(run, starts ? body.statements->swept_from : run.end - 2)) {
        found->passed_on = passed_on_backward(tape_, bad_, step.number());
        return found;
      }
    }
    for (const auto& [to, gradient] : statements_.given(step))
      if (auto found = add(to, gradient)) return found;
    return std::nullopt;
  }

  std::optional<NonFinite> of_op(const Step& step) {
    if (step.kind() != StepKind::op || !step.gradient().defined()) return std::nullopt;
    const Needs all = inspect::needs_of(tape_, step);
    Needs needs;
    bool doubtful = false;
    for (int k = 0; k < step.inputs(); ++k) {
      const auto bit = static_cast<std::size_t>(k);
      if (!all[bit] || !bad_[static_cast<std::size_t>(step.input_step(k))]) continue;
      needs.set(bit);
      doubtful = true;
    }
    if (!doubtful || inspect::readable(step) != inspect::Readable::yes) return std::nullopt;
    const Gradients given = inspect::rule_again(step, step.gradient(), needs);
    if (auto found = detail::nonfinite_rule(step, step.gradient(), needs, given)) {
      const int first = step.input_step(found->input);
      found->passed_on = passed_on_backward(tape_, bad_, first);
      found->passed_on.insert(found->passed_on.begin(), first);
      return found;
    }
    for (int k = 0; k < step.inputs(); ++k) {
      const Tensor& gradient = given[static_cast<std::size_t>(k)];
      if (!needs[static_cast<std::size_t>(k)] || !gradient.defined()) continue;
      if (auto found = add(step.input_step(k), gradient)) return found;
    }
    return std::nullopt;
  }

  // Adds to what has come to a doubtful step; finds the sum that is not finite.
  std::optional<NonFinite> add(int to, const Tensor& gradient) {
    if (to > tape_.backward_from() || !bad_[static_cast<std::size_t>(to)]) return std::nullopt;
    Tensor& total = totals_[to];
    const Tensor sum = total.defined() ? added(total, gradient) : gradient;
    std::optional<NonFinite> found;
    if (total.defined()) found = detail::nonfinite_sum(tape_.step(to), total, gradient, sum);
    if (found) found->passed_on = passed_on_backward(tape_, bad_, to);
    total = sum;
    return found;
  }

  const Tape& tape_;
  const BadScalars& scalars_;
  ScalarStatements statements_;
  std::vector<bool> bad_;
  std::unordered_map<int, Tensor> totals_;
};

// A constant that holds an infinity, of those that what the tape led to comes from through infinities.
std::optional<NonFinite> in_constants(const Tape& tape, const BadScalars& scalars) {
  int last = tape.backward_from() >= 0 ? tape.backward_from() : tape.size() - 1;
  if (last < 0 || !(not_finite(tape.step(last).raw_output()) || scalars.value(last))) return std::nullopt;
  std::vector<bool> touched(static_cast<std::size_t>(last) + 1);
  touched.back() = true;
  int first = -1;
  for (int i = last; i >= 0; --i) {
    if (!touched[static_cast<std::size_t>(i)]) continue;
    const Step step = tape.step(i);
    if (step.is_leaf()) first = i;
    for (int k = 0; k < step.inputs(); ++k)
      if (const int from = step.input_step(k);
          from >= 0 && (not_finite(step.raw_input(k)) || scalars.value(from)))
        touched[static_cast<std::size_t>(from)] = true;
  }
  if (first < 0) return std::nullopt;
  NonFinite found =
      detail::nonfinite_held(tape.step(first), tape.step(first).raw_output(), NonFinite::Origin::leaf);
  found.passed_on = passed_on_forward(tape, scalars, first);
  return found;
}

}  // namespace

std::optional<NonFinite> first_nonfinite(const Tape& tape) {
  if (const auto& stopped = detail::body_of(tape).nonfinite) return *stopped;
  const BadScalars scalars(tape);
  if (auto found = in_forward(tape, scalars)) return found;
  if (auto found = Sweep(tape, scalars).run()) return found;
  return in_constants(tape, scalars);
}

}  // namespace pencil
