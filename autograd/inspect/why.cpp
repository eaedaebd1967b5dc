#include "autograd/inspect/why.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/format.hpp"
#include "autograd/inspect/blame_path.hpp"
#include "autograd/inspect/cells.hpp"
#include "autograd/inspect/replay.hpp"
#include "autograd/inspect/uses.hpp"
#include "autograd/inspect/zero.hpp"

namespace pencil {

namespace {

using inspect::Ending;
using inspect::Numbers;

std::string word_for_gradient(Glossary glossary) { return std::string(translated("gradient", glossary)); }

// The numbers that the first places of an index name.
Numbers numbers_of(int step, const Shape& shape, const std::vector<std::int64_t>& index) {
  if (index.size() > static_cast<std::size_t>(shape.rank()))
    fail("[why] the index has {} places; the tensor has shape {}", index.size(), shape);
  std::int64_t low = 0, count = shape.size();
  for (std::size_t axis = 0; axis < index.size(); ++axis) {
    const std::int64_t size = shape[static_cast<int>(axis)];
    if (index[axis] < 0 || index[axis] >= size)
      fail("[why] index {} of axis {} is out of range: the tensor has shape {}", index[axis], axis, shape);
    count /= size;
    low += index[axis] * count;
  }
  return {step, low, low + count};
}

class Asker {
 public:
  Asker(const Tape& tape, const Tensor& loss, const Tensor& x, const WhyOptions& options)
      : tape_(tape), options_(options), loss_(loss), x_(x), gradient_(word_for_gradient(options.glossary)) {}

  Why run() {
    if (!x_.defined() || !loss_.defined()) fail("[why] was asked about a Tensor that never got a value");
    from_ = tape_.step_of(x_);
    to_ = tape_.step_of(loss_);
    numbers_ = numbers_of(from_, x_.shape(), options_.index);
    why_.asked = from_ < 0 ? std::string("the tensor") : called(from_);
    if (from_ < 0 && !x_.name().empty()) inspect::append_plain(why_.asked += ' ', x_.name());
    if (x_.shape().rank() > 0 && !options_.index.empty())
      why_.asked += fmt::format(" [{}]", fmt::join(options_.index, ", "));
    const bool sound = look_at_ends();
    if (to_ >= 0 && from_ >= 0 && look_at_path() && sound) look_at_gradient();
    look_for_optimizer();
    return std::move(why_);
  }

 private:
  void found(Cause cause, int step, std::string text) {
    Where where;
    if (step >= 0)
      where = tape_.step(step).called().line() ? tape_.step(step).called() : tape_.step(step).where();
    why_.findings.push_back({cause, step, where, std::move(text)});
  }

  std::string called(int number) const {
    const Step step = tape_.step(number);
    std::string text = fmt::format("step {} ", number);
    inspect::append_plain(text, word_of(step, options_.glossary));
    const bool leaf = step.is_leaf();
    const std::string_view name =
        step.name().empty() || (!leaf && !step.path().empty()) ? step.path() : step.name();
    if (!name.empty()) inspect::append_plain(text += ' ', name);
    return text;
  }

  // What there is to say of the tensor and the loss themselves. False where no gradient can come, path or
  // not.
  bool look_at_ends() {
    const bool frozen = x_.is_parameter() && (from_ < 0 ? x_.frozen() : !tape_.step(from_).needs_gradient());
    if (frozen)
      found(Cause::frozen, from_, from_ < 0 ? "it is frozen" : "it was frozen when this tape met it");
    if (!is_float(x_.dtype()))
      found(Cause::no_derivative, from_, "it holds whole numbers, which have no derivative");
    if (from_ < 0) {
      elsewhere(x_, "it");
      found(Cause::never_used, -1, "no step of this tape reads it");
    } else if (const Step step = tape_.step(from_); !frozen && !step.needs_gradient()) {
      no_parameter(step);
    }
    if (to_ < 0) {
      elsewhere(loss_, "the loss");
      if (inspect::origin_of(loss_) == inspect::Origin::no_tape)
        found(Cause::not_on_path, -1, "the loss is not on this tape: it was made without one");
    } else if (tape_.step(to_).kind() == StepKind::paused) {
      found(Cause::paused, to_, "the loss was computed while the tape was paused");
    }
    if (from_ < 0 && to_ >= 0) strangers();
    return why_.findings.empty();
  }

  void elsewhere(const Tensor& x, const char* what) {
    const inspect::Origin origin = inspect::origin_of(x);
    if (origin == inspect::Origin::live_tape)
      found(Cause::foreign, -1,
            fmt::format("{} was made on another tape: on this one it is a constant", what));
    if (origin == inspect::Origin::ended_tape)
      found(Cause::ended_tape, -1,
            fmt::format("{} was made on a tape that has ended: now it is a constant", what));
  }

  void no_parameter(const Step& step) {
    switch (step.kind()) {
      case StepKind::foreign:
        return found(Cause::foreign, from_, "it was made on another tape: on this one it is a constant");
      case StepKind::paused:
        return found(Cause::paused, from_, "it was computed while the tape was paused");
      case StepKind::constant:
        if (inspect::origin_of(x_) != inspect::Origin::no_tape)
          return found(Cause::ended_tape, from_,
                       "it was made on a tape that has ended: now it is a constant");
        if (!is_float(step.dtype())) return;
        return found(Cause::constant, from_,
                     "it is a constant: backward passes it by (parameter(…) makes a leaf that collects; "
                     "tape.gradient may ask for any tensor)");
      case StepKind::parameter:
      case StepKind::scalars:
      case StepKind::op:
        break;
    }
    if (is_float(step.dtype()))
      found(Cause::constant, from_,
            "no parameter leads to it: backward passes it by (tape.gradient may ask for any tensor)");
  }

  // Leaves of other tapes that the loss depends on: what was asked about may lie behind them.
  void strangers() {
    std::vector<bool> leads(static_cast<std::size_t>(to_) + 1);
    leads[static_cast<std::size_t>(to_)] = true;
    for (int i = to_; i >= 0; --i) {
      if (!leads[static_cast<std::size_t>(i)]) continue;
      const Step step = tape_.step(i);
      for (int k = 0; k < step.inputs(); ++k)
        if (step.input_step(k) >= 0) leads[static_cast<std::size_t>(step.input_step(k))] = true;
    }
    for (int i = 0; i <= to_; ++i) {
      if (!leads[static_cast<std::size_t>(i)]) continue;
      const Step step = tape_.step(i);
      if (step.kind() == StepKind::foreign)
        return found(Cause::foreign, i,
                     fmt::format("{} comes from another tape, perhaps from there", called(i)));
      if (step.kind() == StepKind::constant &&
          inspect::origin_of(step.raw_output()) == inspect::Origin::ended_tape)
        return found(Cause::ended_tape, i,
                     fmt::format("{} comes from a tape that has ended, perhaps from there", called(i)));
    }
  }

  // Whether derivatives lead from the tensor to the loss; says where they break off.
  bool look_at_path() {
    const inspect::Paths paths(tape_, from_, to_);
    if (paths.by_derivatives()) return true;
    if (!paths.by_readings()) {
      if (const int mark = paths.last_pause(); mark >= 0)
        found(Cause::paused, mark,
              fmt::format("Scalars that come of {} were used while the tape was paused: what came of them is "
                          "a constant",
                          it_or(tape_.step(mark), 0)));
      if (paths.last() == from_)
        found(Cause::never_used, from_, "no step of this tape reads it");
      else
        found(Cause::not_on_path, paths.last(),
              fmt::format("nothing that comes of it reaches the loss, {}; the last is {}", called(to_),
                          called(paths.last())));
      return false;
    }
    const auto [number, input] = paths.first_break();
    const Step step = tape_.step(number);
    if (step.kind() == StepKind::paused)
      found(Cause::paused, number,
            fmt::format("'{}' was applied to {} while the tape was paused", step.op().word(),
                        it_or(step, input)));
    else if (step.op().differentiable())
      found(Cause::constant, number,
            fmt::format("{} takes {} as a constant", called(number), it_or(step, input)));
    else if (inspect::share_numbers(step.raw_input(input), step.raw_output()))
      found(Cause::detached, number,
            fmt::format("{} hands on the numbers of {}, cut off from the tape", called(number),
                        it_or(step, input)));
    else
      found(Cause::no_derivative, number,
            fmt::format("{} has no derivative; it reads {}", called(number), it_or(step, input)));
    return false;
  }

  std::string it_or(const Step& step, int input) const {
    return step.input_step(input) == from_ ? "it" : called(step.input_step(input));
  }

  // There is a path: did a gradient come?
  void look_at_gradient() {
    if (tape_.backward_from() < 0)
      return found(Cause::not_yet, -1, "backward has not run on this tape; a path from the loss is there");
    if (tape_.backward_from() != to_)
      return found(
          Cause::other_loss, tape_.backward_from(),
          fmt::format("backward ran from {}, not from {}", called(tape_.backward_from()), called(to_)));
    const Step step = tape_.step(from_);
    if (step.gradient().defined()) return look_at_numbers(step.gradient());
    if (!step.reached()) return no_gradient_given();
    if (x_.is_parameter() && x_.has_grad()) return collected();
    found(Cause::freed, from_,
          x_.is_parameter()
              ? "its gradient was taken since, by an optimizer's step or clear_grad; Keep::all keeps it"
              : "its gradient was freed as backward passed; Keep::all keeps it");
  }

  void collected() {
    const inspect::Size size = inspect::size_of(x_.grad(), numbers_);
    if (size.nonzero > 0)
      found(Cause::flows, from_, fmt::format("{} has come: norm {}", gradient_, number_text(size.norm)));
    else
      found(Cause::zero, from_,
            "it is 0; where that came in was freed as backward passed (Keep::all keeps it)");
  }

  void no_gradient_given() {
    const inspect::Paths paths(tape_, from_, to_);
    const auto [number, input] = paths.first_not_given();
    found(Cause::no_derivative, number,
          fmt::format("the rule of {} gives no gradient for its input {}", called(number), input));
  }

  void look_at_numbers(const Tensor& gradient) {
    const inspect::Size size = inspect::size_of(gradient, numbers_);
    if (size.count == 0) return found(Cause::flows, from_, "it holds no numbers");
    const Uses uses(tape_);
    if (size.nonzero == 0) return look_for_zero(uses);
    const std::vector<int> path = inspect::strongest_path(tape_, uses, numbers_);
    constexpr std::size_t near = 16;  // further down nobody looks for the cause of a tiny gradient
    for (std::size_t i = 0; i < std::min(near, path.size()); ++i) {
      const Numbers here = i == 0 ? numbers_ : Numbers{path[i], 0, tape_.step(path[i]).shape().size()};
      const int adder = inspect::cancels(tape_, uses, here);
      if (adder < 0) continue;
      return found(
          Cause::cancels, adder,
          fmt::format(
              "what {} gives {} cancels: of contributions that are not 0 no more is left than rounding",
              called(adder), i == 0 ? "it" : called(path[i])));
    }
    std::string text = fmt::format("{} has come: norm {}", gradient_, number_text(size.norm));
    if (size.nonzero < size.count)
      text += fmt::format(", 0 in {} of {} numbers", size.count - size.nonzero, size.count);
    found(Cause::flows, from_, text + fmt::format("; most of it by way of {}", inspect::path_text(path)));
  }

  void look_for_zero(const Uses& uses) {
    const inspect::ZeroTrace trace = inspect::trace_zero(tape_, uses, numbers_);
    std::vector<inspect::ZeroPlace> places = trace.places;
    // First the place where the largest share of what came there ended.
    const auto share = [](const inspect::ZeroPlace& p) {
      return static_cast<double>(p.count) / static_cast<double>(p.of);
    };
    const auto most = std::ranges::max_element(places, {}, share);
    if (most != places.end()) std::rotate(places.begin(), most, most + 1);
    for (const inspect::ZeroPlace& place : places) ended_at(place);
    if (places.empty())
      found(Cause::zero, from_,
            fmt::format("it is 0, and where that came in cannot be told: {}",
                        trace.stuck.empty() ? "no reader brings a gradient" : trace.stuck.front()));
  }

  void ended_at(const inspect::ZeroPlace& place) {
    const std::string who = called(place.step);
    const std::string count = place.count == place.of ? fmt::format("all {}", place.of)
                                                      : fmt::format("{} of {}", place.count, place.of);
    switch (place.ending) {
      case Ending::start:
        return found(Cause::zero, place.step,
                     fmt::format("backward was given 0 for {} numbers of {}", count, who));
      case Ending::apart:
        return found(
            Cause::cancels, place.step,
            fmt::format("what the readers of {} give adds up to 0 for {} of its numbers", who, count));
      case Ending::cancel:
        return found(Cause::cancels, place.step,
                     fmt::format("contributions cancel: {} adds them up to 0 for {} numbers of {}", who,
                                 count, it_or(tape_.step(place.step), place.input)));
      case Ending::flat:
        break;
    }
    const Step step = tape_.step(place.step);
    const char* label = step.op().parts().zero;
    const Tensor& input = step.raw_input(place.input);
    found(Cause::zero, place.step,
          fmt::format("{}: {} gets {} and passes none to {} numbers of {}; {} is {}",
                      *label ? label : "a derivative of 0", who, gradient_, count, it_or(step, place.input),
                      index_text(input.shape(), place.first),
                      number_text(inspect::number_at(input, place.first))));
  }

  void look_for_optimizer() {
    if (!x_.is_parameter()) return;
    const auto is_x = [&](const Tensor& other) { return same(other, x_); };
    const bool listed =
        !x_.name().empty() && std::ranges::find(options_.unheld, x_.name()) != options_.unheld.end();
    if (!listed && (!options_.held || std::ranges::any_of(*options_.held, is_x))) return;
    const bool flows = !why_.findings.empty() && why_.cause() == Cause::flows;
    found(Cause::unheld, from_, "no optimizer holds it");
    if (flows) std::rotate(why_.findings.begin(), why_.findings.end() - 1, why_.findings.end());
  }

  const Tape& tape_;
  const WhyOptions& options_;
  const Tensor& loss_;
  const Tensor& x_;
  std::string gradient_;
  int from_ = -1, to_ = -1;
  Numbers numbers_{};
  Why why_;
};

}  // namespace

Why why(const Tape& tape, const Tensor& loss, const Tensor& x, const WhyOptions& options) {
  return Asker(tape, loss, x, options).run();
}

}  // namespace pencil
