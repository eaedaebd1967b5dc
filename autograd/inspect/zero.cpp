#include "autograd/inspect/zero.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "autograd/create.hpp"
#include "autograd/inspect/replay.hpp"

namespace pencil::inspect {

namespace {

using Marks = std::vector<bool>;

std::int64_t count_of(const Marks& marks) { return std::ranges::count(marks, true); }
std::int64_t first_of(const Marks& marks) { return std::ranges::find(marks, true) - marks.begin(); }

// 1 where a number is not 0; all 0 for no tensor.
Marks nonzero(const Tensor& x, std::size_t size) {
  Marks marks(size);
  if (x.defined())
    dispatch_float(x.dtype(), [&]<class T>(T) {
      const auto numbers = x.values<T>();
      for (std::size_t i = 0; i < size; ++i) marks[i] = numbers[i] != 0;
    });
  return marks;
}

Marks both(const Marks& a, const Marks& b) {
  Marks marks(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) marks[i] = a[i] && b[i];
  return marks;
}
Marks without(const Marks& a, const Marks& b) {
  Marks marks(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) marks[i] = a[i] && !b[i];
  return marks;
}

// The output numbers that change when the marked numbers of one input do; in f64 where the op computes in it.
Marks changed(const Step& step, int input, const Marks& marks, bool wide) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < step.inputs(); ++i) inputs.push_back(wide ? widened(step.input(i)) : step.input(i));
  const Tensor before = forward_again(step, inputs).output;
  Tensor& moved = inputs[static_cast<std::size_t>(input)];
  Tensor other = empty(moved.shape(), moved.dtype());
  dispatch_float(other.dtype(), [&]<class T>(T) {
    const auto x = moved.values<T>();
    const auto y = other.writable<T>();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double by = 1e-3 * (0.5 + unit(mix(i))) * std::max(1.0, std::abs(static_cast<double>(x[i])));
      y[i] = marks[i] ? static_cast<T>(static_cast<double>(x[i]) + by) : x[i];
    }
  });
  moved = other;
  const Tensor after = forward_again(step, inputs).output;
  Marks found(static_cast<std::size_t>(before.size()));
  dispatch(before.dtype(), [&]<class T>(T) {
    const auto a = before.values<T>(), b = after.values<T>();
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = a[i] != b[i] && (a[i] == a[i] || b[i] == b[i]);
  });
  return found;
}

Marks changed(const Step& step, int input, const Marks& marks) {
  try {
    return changed(step, input, marks, true);
  } catch (const Error&) {  // f32 only
    return changed(step, input, marks, false);
  }
}

class Tracer {
 public:
  Tracer(const Tape& tape, const Uses& uses) : tape_(tape), uses_(uses) {}

  ZeroTrace run(const Numbers& numbers) {
    Marks asked(static_cast<std::size_t>(tape_.step(numbers.step).shape().size()));
    std::fill(asked.begin() + numbers.low, asked.begin() + numbers.high, true);
    followed_[numbers.step] = std::move(asked);
    while (!followed_.empty()) {  // readers come later on the tape: each step is visited once
      const auto next = followed_.extract(followed_.begin());
      visit(next.key(), next.mapped());
    }
    return std::move(trace_);
  }

 private:
  void end(Ending ending, int step, int input, const Marks& ended, const Marks& of) {
    if (const std::int64_t count = count_of(ended); count > 0)
      trace_.places.push_back({ending, step, input, count, count_of(of), first_of(ended)});
  }

  void visit(int number, Marks marks) {
    if (number == tape_.backward_from()) return end(Ending::start, number, -1, marks, marks);
    std::vector<Use> readers;
    Marks given(marks.size());
    for (const Use& use : uses_.of(number)) {
      const Step reader = tape_.step(use.step);
      if (!brings_gradient(tape_, use)) continue;
      try {
        const Marks passed = nonzero(rule_again(reader, reader.gradient(), use.input), marks.size());
        for (std::size_t i = 0; i < given.size(); ++i) given[i] = given[i] || passed[i];
        readers.push_back(use);
      } catch (const std::exception& error) {
        trace_.stuck.emplace_back(error.what());
      }
    }
    end(Ending::apart, number, -1, both(marks, given), marks);
    const Marks left = without(marks, given);
    for (const Use& use : readers) try {
        ask(use, left);
      } catch (const std::exception& error) {
        trace_.stuck.emplace_back(error.what());
      }
  }

  // Why a reader passes nothing to the marked numbers.
  void ask(const Use& use, const Marks& marks) {
    const Step reader = tape_.step(use.step);
    const Tensor& dy = reader.gradient();
    Rng rng(mix(static_cast<std::uint64_t>(use.step)));
    const Tensor anything = randn(dy.shape(), rng, dy.dtype());
    const Marks can = nonzero(rule_again(reader, anything, use.input), marks.size());
    end(Ending::flat, use.step, use.input, without(marks, can), marks);
    const Marks pass = both(marks, can);
    const Marks does = nonzero(rule_again(reader, scrambled(dy, 0, dy.size()), use.input), marks.size());
    end(Ending::cancel, use.step, use.input, both(pass, does), marks);
    const Marks onward = without(pass, does);
    if (count_of(onward) == 0) return;
    const Marks got = nonzero(dy, static_cast<std::size_t>(dy.size()));
    const Marks next = without(changed(reader, use.input, onward), got);
    if (count_of(next) == 0) return end(Ending::flat, use.step, use.input, onward, marks);
    Marks& there = followed_[use.step];
    there.resize(next.size());
    for (std::size_t i = 0; i < next.size(); ++i) there[i] = there[i] || next[i];
  }

  const Tape& tape_;
  const Uses& uses_;
  std::map<int, Marks> followed_;
  ZeroTrace trace_;
};

double largest(const Tensor& x, const Numbers& numbers) {
  double most = 0;
  if (x.defined())
    dispatch_float(x.dtype(), [&]<class T>(T) {
      for (std::int64_t i = numbers.low; i < numbers.high; ++i)
        most = std::max(most, std::abs(static_cast<double>(x.values<T>()[static_cast<std::size_t>(i)])));
    });
  return most;
}

}  // namespace

ZeroTrace trace_zero(const Tape& tape, const Uses& uses, const Numbers& numbers) {
  return Tracer(tape, uses).run(numbers);
}

int cancels(const Tape& tape, const Uses& uses, const Numbers& numbers) {
  const Tensor& gradient = tape.step(numbers.step).gradient();
  const double rounding = gradient.dtype() == f32 ? 1e-5 : 1e-12;
  const double there = largest(gradient, numbers);
  for (const Use& use : uses.of(numbers.step)) {
    const Step reader = tape.step(use.step);
    if (!brings_gradient(tape, use) || readable(reader) != Readable::yes) continue;
    const Tensor& dy = reader.gradient();
    const double passed = largest(rule_again(reader, scrambled(dy, 0, dy.size()), use.input), numbers);
    if (passed > 0 && there <= rounding * passed) return use.step;
  }
  return -1;
}

}  // namespace pencil::inspect
