// The backward sweep: rules give gradients, and only here are they added up.

#include <algorithm>

#include "autograd/arithmetic.hpp"
#include "autograd/create.hpp"
#include "autograd/tape_body.hpp"

namespace pencil {

namespace {

// y = a + b        da = dy        db = dy        (one shape; what a recorded sweep adds gradients up with)
const Op& accumulate_op() {
  static const Op op{"accumulate",
                     {.forward = [](Inputs in, const Attributes&) { return Computed(added(in[0], in[1])); },
                      .rule =
                          [](const Step&, const Tensor& dy, Needs) {
                            return Gradients{dy, dy};
                          },
                      .explain =
                          [](Worksheet& sheet, std::int64_t element) {
                            const Worked a = sheet.input(0, element);
                            return a + sheet.input(1, element);
                          }}};
  return op;
}

// A gradient is a value. Where a rule or the caller gives a parameter for one, what is written to the
// parameter later must not reach it.
Tensor as_value(const Tensor& gradient) {
  return gradient.is_parameter() ? with_shape(gradient, gradient.shape()) : gradient;
}

// Adds a gradient to the others of a step.
void add_up(detail::TapeBody& tape, int step, Tensor& total, const Tensor& gradient, bool record) {
  if (!total.defined()) {
    total = gradient;
  } else if (record) {
    total = apply(accumulate_op(), {total, gradient});
  } else if (tape.options.stop_on_nonfinite) {
    const Tensor sum = added(total, gradient);
    tape.guard_sum(step, total, gradient, sum);
    total = sum;
  } else {
    total = added(std::move(total), gradient);
  }
}

// While it lives, the gradients that `backward` brought to Scalars are out of the way, and all are 0.
class WithoutGradients {
 public:
  explicit WithoutGradients(detail::Statements* statements) : statements_(statements) {
    if (!statements_) return;
    end_ = statements_->end();
    if (statements_->state().swept > 0) {
      before_ = statements_->gradients(end_);
      statements_->clear_gradients(end_);
    }
  }
  ~WithoutGradients() {
    if (!statements_) return;
    if (before_.empty())
      statements_->clear_gradients(end_);
    else
      statements_->set_gradients(end_, before_);
  }
  WithoutGradients(const WithoutGradients&) = delete;
  WithoutGradients& operator=(const WithoutGradients&) = delete;

 private:
  detail::Statements* statements_;
  std::uint32_t end_ = 0;
  std::vector<double> before_;
};

bool all_zeros(const Tensor& x) {
  return dispatch_float(x.dtype(), [&]<class T>(T) {
    const std::span<const T> numbers = x.values<T>();
    return std::all_of(numbers.begin(), numbers.end(), [](T number) { return number == 0; });
  });
}

// A gradient of a recorded sweep is on the tape, unless it is 0 or dy itself: one that a rule computed behind
// the tape's back would pass for a constant.
void check_recorded(const detail::TapeBody& tape, const Step& step, const Tensor& dy,
                    const Gradients& gradients, Needs needs) {
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (needs[i] && gradients[i].defined() && !same(gradients[i], dy) && tape.find_step(gradients[i]) < 0 &&
        !all_zeros(gradients[i]))
      fail(
          "[{}] the rule's gradient for input {} was not made by ops (step {}): a recorded sweep cannot "
          "differentiate it. Write the rule in ops, or give the op its .composed",
          step.word(), i, step.number());
}

}  // namespace

Gradients detail::rule_of(const Step& step, const Tensor& dy, Needs needs, bool record) {
  const Quiet quiet(!record);
  Gradients gradients = step.op().parts().rule(step, dy, needs);
  const auto inputs = static_cast<std::size_t>(step.inputs());
  if (gradients.size() != inputs)
    fail(
        "[{}] the rule gave {} gradients for {} inputs (step {}); need one an input, Tensor() where there is "
        "none",
        step.word(), gradients.size(), inputs, step.number());
  for (std::size_t i = 0; i < inputs; ++i) {
    if (!gradients[i].defined()) continue;
    const Tensor& input = step.raw_input(static_cast<int>(i));
    if (gradients[i].shape() != input.shape() || gradients[i].dtype() != input.dtype())
      fail("[{}] the rule's gradient for input {} is {} of {}; the input is {} of {} (step {})", step.word(),
           i, gradients[i].shape(), name_of(gradients[i].dtype()), input.shape(), name_of(input.dtype()),
           step.number());
    if (!record) gradients[i] = as_value(gradients[i]);
  }
  return gradients;
}

Gradients Tape::run_rule(int number, const Tensor& dy, Needs needs, bool record) {
  const Step step(body_.get(), number);
  const detail::StepRecord& recorded = body_->at(number);
  const OpParts& parts = recorded.op.parts();
  const int outer = std::exchange(body_->gradient_of, number);
  struct Restore {
    int& slot;
    int value;
    ~Restore() { slot = value; }
  } const restore{body_->gradient_of, outer};

  Gradients gradients;
  if (record && parts.composed) {  // a fused op is differentiated through its simpler ops
    std::vector<Tensor> inputs;
    std::vector<int> targets;
    for (int i = 0; i < step.inputs(); ++i) inputs.push_back(step.input(i));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (needs[i]) targets.push_back(recorded.inputs[i].step);
    const int low = body_->size;
    const Tensor y = parts.composed(inputs, recorded.attributes);
    if (!y.defined()) fail("[{}] composed gave back no tensor", step.word());
    if (y.shape() != step.shape() || y.dtype() != step.dtype())
      fail("[{}] composed gives {} of {} where forward gave {} of {} (step {})", step.word(), y.shape(),
           name_of(y.dtype()), step.shape(), name_of(step.dtype()), number);
    const std::vector<Tensor> found = sweep(low, body_->find_step(y), dy, targets, true);
    gradients.resize(inputs.size());
    std::vector<int> given;  // an input that stands twice has one gradient, for both places together
    for (std::size_t i = 0, next = 0; i < inputs.size(); ++i) {
      if (!needs[i]) continue;
      const int from = recorded.inputs[i].step;
      if (std::ranges::find(given, from) == given.end()) gradients[i] = found[next];
      given.push_back(from);
      ++next;
    }
    return gradients;
  }

  gradients = detail::rule_of(step, dy, needs, record);
  if (record) check_recorded(*body_, step, dy, gradients, needs);
  return gradients;
}

int Tape::checked_start(const Tensor& y, Tensor& upstream, const char* who) const {
  const int from = step_of(y);
  if (!y.defined()) fail("[{}] was given a Tensor that never got a value", who);
  if (body_->thread != &detail::thread_state())
    fail("[{}] a tape belongs to the thread that made it; this is another", who);
  if (from < 0)
    fail(
        "[{}] the tensor of shape {} is not on this tape: it was made without a tape, on another one, or on "
        "one that "
        "has ended",
        who, y.shape());
  if (body_->at(from).kind == StepKind::paused)
    fail(
        "[{}] the tensor of shape {} was computed while the tape was paused (step {}, {}); nothing leads "
        "back from it",
        who, y.shape(), from, to_string(body_->at(from).where));
  if (!is_float(y.dtype()))
    fail("[{}] the tensor of shape {} has dtype i32; gradients need f32 or f64", who, y.shape());
  if (!upstream.defined()) {
    if (y.size() != 1)
      fail(
          "[{}] starts from one number; this tensor has shape {}. Reduce it (sum, mean) or give an upstream "
          "gradient of "
          "its shape",
          who, y.shape());
    upstream = ones(y.shape(), y.dtype());
  } else if (upstream.shape() != y.shape() || upstream.dtype() != y.dtype()) {
    fail("[{}] the upstream gradient is {} of {}, the tensor {} of {}; they must agree", who,
         upstream.shape(), name_of(upstream.dtype()), y.shape(), name_of(y.dtype()));
  }
  return from;
}

int Tape::checked_start(const Scalar& y, const char* who) const {
  if (body_->thread != &detail::thread_state())
    fail("[{}] a tape belongs to the thread that made it; this is another", who);
  if (y.is_constant())
    fail(
        "[{}] this Scalar is a constant: it depends on no Scalar of this tape. Make its inputs with "
        "scalars(…) while the tape records",
        who);
  if (!body_->statements || !body_->statements->has(y.tag())) {
    (void)detail::on_current_tape(y.tag());  // says where its tape has ended
    fail("[{}] this Scalar is on another tape", who);
  }
  body_->close_run();
  return body_->statements->run_of(static_cast<std::uint32_t>(y.tag())).step;
}

void Tape::check_unswept() const {
  if (body_->backward_from >= 0)
    fail(
        "[backward] this tape has run backward already, at {}; one backward a tape. Make a new tape for a "
        "new pass, or "
        "use tape.gradient, which may be asked many times",
        to_string(body_->backward_where));
}

void Tape::backward(const Tensor& y, const BackwardOptions& options, Where where) {
  check_unswept();
  Tensor upstream = options.upstream.defined() ? as_value(options.upstream) : Tensor();
  const int from = checked_start(y, upstream, "backward");
  if (!body_->at(from).needs)
    fail(
        "[backward] no parameter leads to this tensor of shape {} (step {}): nothing would get a gradient. "
        "Make its "
        "inputs with parameter(…), or use tape.gradient",
        y.shape(), from);
  sweep_back(from, std::move(upstream), 0, where);
}

void Tape::backward(const Scalar& y, Where where) {
  check_unswept();
  const int from = checked_start(y, "backward");
  body_->guard_statements();
  sweep_back(from, Tensor(), static_cast<std::uint32_t>(y.tag()), where);
}

void Tape::sweep_back(int from, Tensor upstream, std::uint32_t place, Where where) {
  body_->backward_from = from;
  body_->backward_where = where;
  detail::Statements* const statements = body_->statements.get();
  if (place > 0) statements->words()[place + 1] = 1;

  const bool keep = body_->options.keep == Keep::all, guard = body_->options.stop_on_nonfinite;
  // A sweep that throws leaves the tape as it was, if nothing was freed on the way.
  struct Undo {
    detail::TapeBody* tape;
    ~Undo() {
      if (!tape) return;
      for (int i = std::exchange(tape->backward_from, -1); i >= 0; --i) {
        tape->at(i).reached = false;
        tape->at(i).gradient = Tensor();
      }
      if (tape->statements) tape->statements->clear_gradients(tape->statements->end());
    }
  } undo{keep ? body_.get() : nullptr};
  std::vector<Tensor> gradients(static_cast<std::size_t>(from) + 1);
  std::vector<std::pair<Tensor, Tensor>>
      reached;  // parameters and their gradients, given out once all is well
  if (guard) body_->guard_start(from, upstream);
  gradients.back() = std::move(upstream);
  for (int i = from; i >= 0; --i) {
    detail::StepRecord& step = body_->at(i);
    const Tensor dy = std::move(gradients[static_cast<std::size_t>(i)]);
    if (step.kind == StepKind::scalars && (dy.defined() || step.reached || (i == from && place > 0))) {
      const detail::Run& run = *statements->run_of_step(i);
      step.reached = true;
      for (const detail::Slot& slot : step.inputs)  // earlier runs, whose Scalars these statements read
        if (detail::StepRecord& read = body_->at(slot.step); read.kind == StepKind::scalars)
          read.reached = true;
      body_->sweep_run(run, i == from && place > 0 ? place : run.end - 2, dy,
                       [&](int to, const Tensor& gradient) {
                         if (body_->at(to).needs)
                           add_up(*body_, to, gradients[static_cast<std::size_t>(to)], gradient, false);
                       });
      if (keep) step.gradient = dy;
    } else if (dy.defined()) {
      step.reached = true;
      if (step.kind == StepKind::parameter) reached.emplace_back(step.output, dy);
      if (step.kind == StepKind::op) {
        Needs needs;
        for (std::size_t k = 0; k < step.inputs.size(); ++k)
          if (detail::TapeBody::differentiable(step, k) && body_->at(step.inputs[k].step).needs) needs.set(k);
        detail::Stopwatch watch(body_.get());
        const Gradients given = run_rule(i, dy, needs, false);
        if (guard) body_->guard_rule(i, dy, needs, given);
        for (std::size_t k = 0; k < given.size(); ++k)
          if (const int to = step.inputs[k].step; given[k].defined() && to >= 0 && needs[k])
            add_up(*body_, to, gradients[static_cast<std::size_t>(to)], given[k], false);
        if (const auto lap = watch.stop()) body_->time_of(i).backward = *lap;
      }
      if (keep) step.gradient = dy;
    }
    if (!keep) body_->free(i);
  }
  undo.tape = nullptr;
  if (statements) {
    statements->state().swept = place > 0 ? place : statements->end_before(from) - 1;
    statements->swept_from = place;
  }
  for (const auto& [parameter, gradient] : reached) parameter.add_grad(gradient);
}

std::vector<Tensor> Tape::gradient(const Tensor& y, std::span<const Tensor> xs,
                                   const GradientOptions& options, Where) {
  Tensor upstream =
      options.upstream.defined() && !options.record ? as_value(options.upstream) : options.upstream;
  const int from = checked_start(y, upstream, "gradient");
  if (options.record && (Tape::current() != this || body_->paused))
    fail("[gradient] a recorded sweep needs this tape to be the one that records now");
  return gradient_of_tensors(from, upstream, 0, xs, options.record);
}

std::vector<Tensor> Tape::gradient(const Scalar& y, std::span<const Tensor> xs, Where) {
  return gradient_of_tensors(checked_start(y, "gradient"), Tensor(), static_cast<std::uint32_t>(y.tag()), xs,
                             false);
}

std::vector<Tensor> Tape::gradient_of_tensors(int from, const Tensor& upstream, std::uint32_t place,
                                              std::span<const Tensor> xs, bool record) {
  std::vector<int> targets;
  int low = from;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const int step = step_of(xs[i]);
    if (step < 0)
      fail("[gradient] tensor {} of {}{} is not on this tape: nothing recorded here uses it", i, xs.size(),
           xs[i].defined() ? fmt::format(", shape {},", xs[i].shape()) : "");
    targets.push_back(step);
    low = std::min(low, step);
  }
  const WithoutGradients aside(body_->statements.get());
  std::vector<Tensor> found = sweep(low, from, upstream, targets, record, place);
  for (std::size_t i = 0; i < found.size(); ++i)
    if (!found[i].defined()) found[i] = zeros(xs[i].shape(), xs[i].dtype());
  return found;
}

std::vector<double> Tape::gradient(const Scalar& y, std::span<const Scalar> xs, Where) {
  return gradient_of_scalars(checked_start(y, "gradient"), Tensor(), static_cast<std::uint32_t>(y.tag()), xs);
}

std::vector<double> Tape::gradient(const Tensor& y, std::span<const Scalar> xs, Where) {
  Tensor upstream;
  const int from = checked_start(y, upstream, "gradient");
  return gradient_of_scalars(from, upstream, 0, xs);
}

std::vector<double> Tape::gradient_of_scalars(int from, const Tensor& upstream, std::uint32_t place,
                                              std::span<const Scalar> xs) {
  detail::Statements* const statements = body_->statements.get();
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (!statements || !statements->has(xs[i].tag()))
      fail("[gradient] Scalar {} of {} is not on this tape", i, xs.size());
  const WithoutGradients aside(statements);
  if (statements) sweep(0, from, upstream, {}, false, place, true);
  std::vector<double> found;
  for (const Scalar& x : xs) found.push_back(statements->words()[static_cast<std::uint32_t>(x.tag()) + 1]);
  return found;
}

// The gradients that reach `targets` from step `from`, walking steps `low` … `from` only: targets below `low`
// are where the walk ends, and a target inside is passed through as well. Starts from the Scalar at `place`
// if that is not 0, and goes to all Scalars if that is asked for.
std::vector<Tensor> Tape::sweep(int low, int from, const Tensor& upstream, std::span<const int> targets,
                                bool record, std::uint32_t place, bool to_scalars) {
  std::vector<Tensor> found(targets.size());
  const auto deliver = [&](int step, const Tensor& gradient) {
    for (std::size_t i = 0; i < targets.size(); ++i)
      if (targets[i] == step) add_up(*body_, step, found[i], gradient, record);
  };
  if (from < low) {
    deliver(from, upstream);
    return found;
  }
  const auto inside = [&](int step) { return static_cast<std::size_t>(step - low); };
  std::vector<bool> leads(inside(from) + 1);  // whether a target can be reached from here
  std::vector<bool> is_target(leads.size());
  for (const int target : targets)
    if (target >= low && target <= from) leads[inside(target)] = is_target[inside(target)] = true;
  const auto wanted = [&](const detail::StepRecord& step, std::size_t k) {
    const int input = step.inputs[k].step;
    if (input < 0) return false;
    const bool leads_on =
        input >= low ? leads[inside(input)] : std::ranges::find(targets, input) != targets.end();
    // A freed input counts: the sweep that comes to it says so.
    return leads_on && (!step.inputs[k].tensor.defined() || detail::TapeBody::differentiable(step, k));
  };
  for (int i = low; i <= from; ++i) {
    const detail::StepRecord& step = body_->at(i);
    if (step.kind == StepKind::scalars) {
      leads[inside(i)] = leads[inside(i)] || to_scalars;
      for (const detail::Slot& slot : step.inputs)
        if (slot.step >= low && leads[inside(slot.step)]) leads[inside(i)] = true;
      continue;
    }
    if (step.kind != StepKind::op || !step.op.differentiable() || leads[inside(i)]) continue;
    for (std::size_t k = 0; k < step.inputs.size() && !leads[inside(i)]; ++k)
      leads[inside(i)] = wanted(step, k);
  }

  // The steps of a recorded sweep are guarded as they are recorded.
  const bool guard = body_->options.stop_on_nonfinite && !record;
  if (guard) body_->guard_start(from, upstream);
  std::vector<Tensor> gradients(leads.size());
  gradients.back() = upstream;
  std::vector<bool> reached(leads.size());  // the runs that a gradient comes to without a tensor
  if (place > 0) {
    body_->statements->words()[place + 1] = 1;
    reached.back() = true;
  }
  for (int i = from; i >= low; --i) {
    const Tensor dy = std::move(gradients[inside(i)]);
    if (body_->at(i).kind == StepKind::scalars && leads[inside(i)] && (dy.defined() || reached[inside(i)])) {
      if (record)
        fail(
            "[gradient] a recorded sweep came to scalar statements (step {}), which cannot be differentiated "
            "twice; write this part in tensors",
            i);
      for (const detail::Slot& slot : body_->at(i).inputs)
        if (slot.step >= low) reached[inside(slot.step)] = true;
      if (dy.defined() && is_target[inside(i)]) deliver(i, dy);
      const detail::Run& run = *body_->statements->run_of_step(i);
      body_->sweep_run(run, i == from && place > 0 ? place : run.end - 2, dy,
                       [&](int to, const Tensor& gradient) {
                         if (to >= low && leads[inside(to)])
                           add_up(*body_, to, gradients[inside(to)], gradient, false);
                         else
                           deliver(to, gradient);
                       });
      continue;
    }
    if (!dy.defined() || !leads[inside(i)]) continue;
    if (is_target[inside(i)]) deliver(i, dy);
    const detail::StepRecord& step = body_->at(i);
    if (step.kind != StepKind::op || !step.op.differentiable()) continue;
    Needs needs;
    bool any = false;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      if (!wanted(step, k)) continue;
      if (!step.inputs[k].tensor.defined())
        (void)Step(body_.get(), i).input(static_cast<int>(k));  // says it was freed
      needs.set(k);
      any = true;
    }
    if (!any) continue;
    const Gradients given = run_rule(i, dy, needs, record);
    if (guard) body_->guard_rule(i, dy, needs, given);
    for (std::size_t k = 0; k < given.size(); ++k) {
      const int to = step.inputs[k].step;
      if (!given[k].defined() || !needs[k] || to < 0) continue;
      if (to >= low)
        add_up(*body_, to, gradients[inside(to)], given[k], record);
      else
        deliver(to, given[k]);
    }
  }
  return found;
}

Tensor Tape::grad(const Tensor& x) const {
  const int number = step_of(x);
  if (number < 0)
    fail("[grad] the tensor{} is not on this tape",
         x.defined() ? fmt::format(" of shape {}", x.shape()) : "");
  const detail::StepRecord& step = body_->at(number);
  if (step.gradient.defined()) return step.gradient;
  if (body_->backward_from < 0)
    fail("[grad] step {} has no gradient yet: backward has not run on this tape", number);
  if (step.reached)
    fail("[grad] the gradient of step {} was freed as backward passed; a tape made with Keep::all keeps it",
         number);
  fail("[grad] backward brought no gradient to step {} ({})", number, Step(body_.get(), number).word());
}

}  // namespace pencil
