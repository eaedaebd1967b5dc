#include "autograd/inspect/blame_path.hpp"

#include <fmt/format.h>

#include <cmath>

#include "autograd/inspect/replay.hpp"

namespace pencil::inspect {

Paths::Paths(const Tape& tape, int from, int to)
    : tape_(tape), from_(from), to_(std::max(from, to)), last_(from) {
  const std::size_t count = static_cast<std::size_t>(tape.size() - from);
  reads_.resize(count);
  differentiable_.resize(count);
  leads_.resize(count);
  reads_[0] = differentiable_[0] = true;
  for (int i = from + 1; i < tape.size(); ++i) {
    const Step step = tape.step(i);
    for (int k = 0; k < step.inputs(); ++k) {
      reads_[index(i)] = reads_[index(i)] || comes_of(step, k, reads_);
      differentiable_[index(i)] =
          differentiable_[index(i)] || (comes_of(step, k, differentiable_) && passes(tape, step, k));
    }
    if (!reads_[index(i)]) continue;
    last_ = i;
    if (step.kind() == StepKind::paused && tape.step(step.input_step(0)).kind() == StepKind::scalars)
      last_pause_ = i;
  }
  if (to < from) {  // the loss came before
    reads_[0] = differentiable_[0] = false;
    return;
  }
  leads_[index(to)] = true;
  for (int i = to; i > from; --i) {
    if (!leads_[index(i)]) continue;
    const Step step = tape.step(i);
    for (int k = 0; k < step.inputs(); ++k)
      if (step.input_step(k) >= from) leads_[index(step.input_step(k))] = true;
  }
}

bool Paths::comes_of(const Step& step, int input, const std::vector<bool>& marks) const {
  const int read = step.input_step(input);
  return read >= from_ && marks[index(read)];
}

std::pair<int, int> Paths::first_break() const {
  for (int i = from_ + 1; i <= to_; ++i) {
    if (!leads_[index(i)] || differentiable_[index(i)]) continue;
    const Step step = tape_.step(i);
    for (int k = 0; k < step.inputs(); ++k)
      if (comes_of(step, k, differentiable_)) return {i, k};
  }
  return {-1, -1};
}

std::pair<int, int> Paths::first_not_given() const {
  for (int i = from_ + 1; i <= to_; ++i) {
    const Step step = tape_.step(i);
    if (!differentiable_[index(i)] || !step.reached()) continue;
    for (int k = 0; k < step.inputs(); ++k)
      if (comes_of(step, k, differentiable_) && passes(tape_, step, k) &&
          !tape_.step(step.input_step(k)).reached())
        return {i, k};
  }
  return {to_, 0};
}

std::vector<int> strongest_path(const Tape& tape, const Uses& uses, const Numbers& numbers) {
  std::vector<int> path{numbers.step};
  Numbers here = numbers;
  while (here.step != tape.backward_from()) {
    int best = -1;
    double most = -1;
    std::size_t readers = 0;
    for (const Use& use : uses.of(here.step)) readers += brings_gradient(tape, use);
    for (const Use& use : uses.of(here.step)) {
      if (!brings_gradient(tape, use)) continue;
      const Step reader = tape.step(use.step);
      double given = 0;
      if (readers > 1 && readable(reader) == Readable::yes)
        if (const Tensor dx = rule_again(reader, reader.gradient(), use.input); dx.defined())
          given = size_of(dx, here).norm;
      if (given > most) {
        most = given;
        best = use.step;
      }
    }
    if (best < 0) break;
    path.push_back(best);
    here = {best, 0, tape.step(best).shape().size()};
  }
  return path;
}

std::string path_text(const std::vector<int>& path) {
  constexpr std::size_t ends = 4;
  std::string text;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path.size() > 2 * ends + 1 && i == ends) {
      text += fmt::format(" → … {} more", path.size() - 2 * ends);
      i = path.size() - ends;
    }
    text += fmt::format("{}{}", text.empty() ? "" : " → ", path[i]);
  }
  return text;
}

Size size_of(const Tensor& x, const Numbers& numbers) {
  Size size{.count = numbers.high - numbers.low};
  double squares = 0;
  dispatch_float(x.dtype(), [&]<class T>(T) {
    for (std::int64_t i = numbers.low; i < numbers.high; ++i) {
      const auto value = static_cast<double>(x.values<T>()[static_cast<std::size_t>(i)]);
      squares += value * value;
      size.nonzero += value != 0;
    }
  });
  size.norm = std::sqrt(squares);
  return size;
}

}  // namespace pencil::inspect
