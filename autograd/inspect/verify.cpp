#include "autograd/inspect/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "autograd/inspect/cells.hpp"
#include "autograd/inspect/replay.hpp"
#include "autograd/inspect/slopes.hpp"
#include "autograd/inspect/statements.hpp"
#include "autograd/inspect/verify_scalars.hpp"

namespace pencil {

namespace {

using Part = Verification::Part;
using Reason = Verification::Reason;

std::string exact(const Tensor& x, std::int64_t flat) {
  return dispatch(x.dtype(), [&]<class T>(T) {
    const T value = x.values<T>()[static_cast<std::size_t>(flat)];
    if constexpr (std::is_same_v<T, std::int32_t>)
      return fmt::format("{}", value);
    else
      return fmt::format("{:.{}g}", value, std::is_same_v<T, float> ? 9 : 17);
  });
}

// How two tensors that should be one differ; "" where they agree bit for bit.
std::string difference(const char* what, const Tensor& recorded, const char* who, const Tensor& again) {
  if (recorded.shape() != again.shape() || recorded.dtype() != again.dtype())
    return fmt::format("{} is recorded as {} of {}; {} gives {} of {}", what, recorded.shape(),
                       name_of(recorded.dtype()), who, again.shape(), name_of(again.dtype()));
  const std::int64_t at = inspect::first_difference(recorded, again);
  if (at < 0) return "";
  return fmt::format("{} at {} is recorded as {}; {} gives {}", what, index_text(recorded.shape(), at),
                     exact(recorded, at), who, exact(again, at));
}

class Verifier {
 public:
  Verifier(const Tape& tape, const VerifyOptions& options) : tape_(tape), options_(options) {}

  Verification run() {
    found_.steps = tape_.size();
    for (int i = 0; i < tape_.size(); ++i) visit(tape_.step(i));
    if (tape_.backward_from() >= 0) add_up_again();
    inspect::verify_scalars(tape_, options_, found_);
    const auto by_step = [](const auto& a, const auto& b) { return a.step < b.step; };
    std::ranges::stable_sort(found_.faults, by_step);
    std::ranges::stable_sort(found_.unchecked, by_step);
    return std::move(found_);
  }

 private:
  void fault(const Step& step, Part part, std::string text) {
    found_.faults.push_back({step.number(), std::string(step.word()), part, std::move(text)});
  }
  void could_not(const Step& step, Part part, Reason reason, std::string text = "") {
    found_.unchecked.push_back({step.number(), part, reason, std::move(text)});
  }

  void visit(const Step& step) {
    switch (step.kind()) {
      case StepKind::parameter:
      case StepKind::constant:
      case StepKind::scalars:
        return;
      case StepKind::foreign:
        return could_not(step, Part::forward, Reason::foreign);
      case StepKind::paused:
        return could_not(step, Part::forward, Reason::paused);
      case StepKind::op:
        break;
    }
    if (const inspect::Readable state = inspect::readable(step); state != inspect::Readable::yes) {
      const Reason reason = state == inspect::Readable::freed ? Reason::freed : Reason::overwritten;
      could_not(step, Part::forward, reason);
      if (step.op().differentiable()) could_not(step, Part::rule, reason);
      return;
    }
    replay(step);
    if (step.op().differentiable())
      check_rule(step);
    else
      could_not(step, Part::rule, Reason::no_derivative);
  }

  void replay(const Step& step) {
    ++found_.forwards;
    try {
      const Computed again = inspect::forward_again(step);
      std::string text = difference("the output", step.output(), "forward", again.output);
      if (text.empty() && again.saved.size() != static_cast<std::size_t>(step.saved_count()))
        text = fmt::format("{} saved tensors are recorded; forward gives {}", step.saved_count(),
                           again.saved.size());
      for (int i = 0; i < step.saved_count() && text.empty(); ++i)
        text = difference(fmt::format("saved tensor {}", i).c_str(), step.saved(i), "forward",
                          again.saved[static_cast<std::size_t>(i)]);
      if (!text.empty()) fault(step, Part::forward, std::move(text));
    } catch (const std::exception& error) {
      fault(step, Part::forward, fmt::format("forward does not run again: {}", error.what()));
    }
  }

  void check_rule(const Step& step) {
    inspect::Slopes slopes = inspect::check_slopes(step, options_);
    found_.slopes += slopes.agreed;
    if (slopes.agreed > 0 || !slopes.fault.empty()) ++found_.rules;
    if (!slopes.fault.empty()) fault(step, Part::rule, std::move(slopes.fault));
    for (auto& [reason, text] : slopes.could_not) could_not(step, Part::rule, reason, std::move(text));
  }

  // The sweep once more, each rule under the recorded gradient of its step.
  void add_up_again() {
    const int from = tape_.backward_from();
    std::vector<Tensor> totals(static_cast<std::size_t>(from) + 1);
    std::vector<bool> incomplete(totals.size());
    const ScalarStatements scalars(tape_);
    for (int i = from; i >= 0; --i) {
      const Step step = tape_.step(i);
      const Tensor total = std::move(totals[static_cast<std::size_t>(i)]);
      if (i < from) compare(step, total, incomplete[static_cast<std::size_t>(i)]);
      if (step.kind() == StepKind::op && step.gradient().defined()) pass_on(step, totals, incomplete);
      if (step.kind() == StepKind::scalars)
        for (const auto& [to, gradient] : scalars.given(step)) add(totals, to, gradient);
    }
  }

  void compare(const Step& step, const Tensor& total, bool incomplete) {
    if (step.kind() == StepKind::scalars && !step.raw_output().defined()) return;
    const Tensor& recorded = step.gradient();
    if (!recorded.defined()) {
      if (step.reached()) return could_not(step, Part::blame, Reason::freed);
      if (total.defined())
        fault(step, Part::blame, "no gradient is recorded; the rules of its readers give one");
      return;
    }
    if (incomplete)
      return could_not(step, Part::blame, Reason::refused, "the rule of a reader cannot be run again");
    ++found_.blames;
    if (!total.defined())
      fault(step, Part::blame, "a gradient is recorded; no rule of its readers gives one");
    else if (std::string text = difference("the gradient", recorded, "the sum over its readers", total);
             !text.empty())
      fault(step, Part::blame, std::move(text));
  }

  static void add(std::vector<Tensor>& totals, int to, const Tensor& gradient) {
    Tensor& total = totals[static_cast<std::size_t>(to)];
    total = total.defined() ? added(std::move(total), gradient) : gradient;
  }

  void pass_on(const Step& step, std::vector<Tensor>& totals, std::vector<bool>& incomplete) {
    const Needs needs = inspect::needs_of(tape_, step);
    try {
      const Gradients given = inspect::rule_again(step, step.gradient(), needs);
      for (std::size_t k = 0; k < given.size(); ++k) {
        if (!given[k].defined() || !needs[k] || step.input_step(static_cast<int>(k)) < 0) continue;
        add(totals, step.input_step(static_cast<int>(k)), given[k]);
      }
    } catch (const std::exception&) {
      for (int k = 0; k < step.inputs(); ++k)
        if (step.input_step(k) >= 0 && needs[static_cast<std::size_t>(k)])
          incomplete[static_cast<std::size_t>(step.input_step(k))] = true;
    }
  }

  const Tape& tape_;
  const VerifyOptions& options_;
  Verification found_;
};

// "3, 5…9, 12": at most eight runs of numbers.
std::string runs(const std::vector<int>& numbers) {
  std::string text;
  int shown = 0;
  for (std::size_t i = 0; i < numbers.size(); ++shown) {
    if (shown == 8) return text + ", …";
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] <= numbers[last] + 1) ++last;
    text += text.empty() ? "" : ", ";
    text += numbers[i] == numbers[last] ? fmt::format("{}", numbers[i])
                                        : fmt::format("{}…{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

std::string_view name_of(Part part) {
  constexpr std::array<std::string_view, 3> names{"forward", "rule", "gradient"};
  return names[static_cast<std::size_t>(part)];
}

std::string_view name_of(Reason reason) {
  constexpr std::array<std::string_view, 10> names{
      "freed",   "overwritten since",       "paused",     "of another tape",           "no derivative",
      "refused", "does not compute in f64", "not finite", "too rough for differences", "a kink"};
  return names[static_cast<std::size_t>(reason)];
}

Verification verify(const Tape& tape, const VerifyOptions& options) { return Verifier(tape, options).run(); }

std::string to_string(const Verification& v) {
  constexpr std::size_t most = 20;
  std::string text = fmt::format("verify: {} step{}, ", v.steps, v.steps == 1 ? "" : "s");
  text += v.ok() ? "nothing wrong\n" : fmt::format("{} wrong\n", v.faults.size());
  text += fmt::format("  {} forwards run again, compared bit for bit\n", v.forwards);
  text += fmt::format("  {} rules against central differences in f64, {} slopes agree\n", v.rules, v.slopes);
  text += fmt::format("  {} gradients added up again, compared bit for bit\n", v.blames);
  if (v.statements > 0)
    text += fmt::format(
        "  {} scalar statement{} computed again, {} slopes agree with differences, {} gradients added up "
        "again\n",
        v.statements, v.statements == 1 ? "" : "s", v.statement_slopes, v.statement_blames);
  for (std::size_t i = 0; i < std::min(most, v.faults.size()); ++i) {
    const Verification::Fault& fault = v.faults[i];
    text += fmt::format("WRONG: step {} ", fault.step);
    inspect::append_plain(text, fault.word);
    text += fmt::format(", {}: {}\n", name_of(fault.part), fault.text);
  }
  if (v.faults.size() > most) text += fmt::format("… {} more\n", v.faults.size() - most);

  std::map<std::pair<Part, Reason>, std::vector<int>> groups;
  for (const auto& each : v.unchecked) groups[{each.part, each.reason}].push_back(each.step);
  for (const auto& [what, steps] : groups)
    text += fmt::format("not checked: {}, {}: step{} {}\n", name_of(what.first), name_of(what.second),
                        steps.front() == steps.back() ? "" : "s", runs(steps));
  return text;
}

}  // namespace pencil
