#include "autograd/tape_body.hpp"

namespace pencil {

using detail::Slot;
using detail::StepRecord;

const StepRecord& Step::record() const { return tape_->at(number_); }

int Step::number() const { return number_; }
StepKind Step::kind() const { return record().kind; }

bool Step::is_leaf() const {
  return kind() == StepKind::parameter || kind() == StepKind::constant || kind() == StepKind::foreign;
}

const Op& Step::op() const {
  if (kind() != StepKind::op && kind() != StepKind::paused)
    fail("[tape] step {} is a {}, not an op", number_, word());
  return record().op;
}

std::string_view name_of(StepKind kind) {
  switch (kind) {
    case StepKind::op:
      return "op";
    case StepKind::parameter:
      return "parameter";
    case StepKind::constant:
      return "constant";
    case StepKind::foreign:
      return "foreign";
    case StepKind::scalars:
      return "scalars";
    case StepKind::paused:
      break;
  }
  return "paused";
}

std::string_view Step::word() const { return kind() == StepKind::op ? record().op.word() : name_of(kind()); }

int Step::inputs() const { return static_cast<int>(record().inputs.size()); }

static const Slot& slot(const std::span<Slot>& slots, int i, const Step& step, const char* what) {
  if (i < 0 || static_cast<std::size_t>(i) >= slots.size())
    fail("[{}] step {} has {} {}s; there is no number {}", step.word(), step.number(), slots.size(), what, i);
  return slots[static_cast<std::size_t>(i)];
}

// `did`: what the step did with the tensor, "read" or "saved".
static const Tensor& checked(const Slot& s, int i, const Step& step, const char* what, const char* did) {
  if (!s.tensor.defined())
    fail("[{}] {} {} of step {} was freed as backward passed; a tape made with Keep::all keeps it",
         step.word(), what, i, step.number());
  if (const std::uint32_t now = s.tensor.version(); now != s.version) {
    const std::uint32_t writes = now - s.version;
    fail(
        "[{}] {} {} of step {} (parameter '{}') was overwritten after the step {} it: {} at {} as version "
        "{}, "
        "{}overwritten at {}, now version {}. Write to a parameter after backward, or give the op a copy(…)",
        step.word(), what, i, step.number(), s.tensor.name(), did, did, to_string(step.where()), s.version,
        writes == 1 ? std::string() : fmt::format("{} writes since, last ", writes),
        to_string(s.tensor.written()), now);
  }
  return s.tensor;
}

const Tensor& Step::input(int i) const {
  return checked(slot(record().inputs, i, *this, "input"), i, *this, "input", "read");
}
const Tensor& Step::raw_input(int i) const { return slot(record().inputs, i, *this, "input").tensor; }
int Step::input_step(int i) const { return slot(record().inputs, i, *this, "input").step; }
std::uint32_t Step::input_version(int i) const { return slot(record().inputs, i, *this, "input").version; }

bool Step::overwritten(int i) const {
  const Slot& s = slot(record().inputs, i, *this, "input");
  return s.tensor.defined() && s.tensor.version() != s.version;
}

const Tensor& Step::output() const {
  if (!record().output.defined())
    fail("[{}] the output of step {} {}", word(), number_,
         kind() == StepKind::paused ? "was not kept: the tape was paused"
                                    : "was freed as backward passed; a tape made with Keep::all keeps it");
  return record().output;
}
const Tensor& Step::raw_output() const { return record().output; }
const Shape& Step::shape() const {
  return record().output.defined() ? record().output.shape() : *record().freed_shape;
}
DType Step::dtype() const { return record().dtype; }
int Step::saved_count() const { return static_cast<int>(record().saved.size()); }
const Tensor& Step::saved(int i) const {
  if (tape_->gradient_of >= 0 && !detail::thread_state().quiet)
    fail(
        "[{}] the rule reads what forward saved (step {}) in a recorded sweep; saved tensors are constants, "
        "so the "
        "derivative would be wrong. Compute it from inputs and output, or give the op its .composed",
        word(), number_);
  const Slot& found = slot(record().saved, i, *this, "saved tensor");
  if (!found.tensor.defined() && record().output.defined())
    fail("[{}] forward gave back an undefined tensor to be saved as number {} (step {})", word(), i, number_);
  return checked(found, i, *this, "saved tensor", "saved");
}
const Tensor& Step::raw_saved(int i) const { return slot(record().saved, i, *this, "saved tensor").tensor; }
const Attributes& Step::attributes() const { return record().attributes; }
bool Step::needs_gradient() const { return record().needs; }
const Tensor& Step::gradient() const { return record().gradient; }
bool Step::reached() const { return record().reached; }

std::string_view Step::name() const {
  return record().output.defined() ? std::string_view(record().output.name()) : std::string_view();
}
std::string_view Step::role() const { return record().role; }
std::string_view Step::path() const { return tape_->paths[static_cast<std::size_t>(record().path)]; }
Where Step::where() const { return record().where; }
Where Step::called() const { return record().called; }
int Step::gradient_of() const { return record().gradient_of; }

static detail::StepTime times_of(const detail::TapeBody& tape, int number) {
  const auto i = static_cast<std::size_t>(number);
  return i < tape.times.size() ? tape.times[i] : detail::StepTime();
}
std::int64_t Step::forward_time() const { return times_of(*tape_, number_).forward.length; }
std::int64_t Step::backward_time() const { return times_of(*tape_, number_).backward.length; }
std::int64_t Step::forward_begin() const { return times_of(*tape_, number_).forward.begin; }
std::int64_t Step::backward_begin() const { return times_of(*tape_, number_).backward.begin; }

}  // namespace pencil
