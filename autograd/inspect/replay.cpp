#include "autograd/inspect/replay.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "autograd/create.hpp"
#include "autograd/tape_body.hpp"

namespace pencil::inspect {

namespace {

template <class T>
bool agree(T a, T b) {
  if constexpr (std::is_same_v<T, std::int32_t>)
    return a == b;
  else if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
           (std::isnan(a) && std::isnan(b));
  else
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
           (std::isnan(a) && std::isnan(b));
}

// Throws where an input is not there or not what it was.
void check_inputs(const Step& step) {
  for (int i = 0; i < step.inputs(); ++i) (void)step.input(i);
}

}  // namespace

Computed forward_again(const Step& step, Inputs inputs) {
  const detail::Quiet quiet;
  Computed result = step.op().parts().forward(inputs, step.attributes());
  if (!result.output.defined()) fail("[{}] forward gave back no tensor", step.word());
  return result;
}

Computed forward_again(const Step& step) {
  boost::container::small_vector<Tensor, 4> inputs;
  for (int i = 0; i < step.inputs(); ++i) inputs.push_back(step.input(i));
  return forward_again(step, Inputs(inputs.data(), inputs.size()));
}

Gradients rule_again(const Step& step, const Tensor& dy, Needs needs) {
  check_inputs(step);
  return detail::rule_of(step, dy, needs, false);
}

Tensor rule_again(const Step& step, const Tensor& dy, int input) {
  const auto i = static_cast<std::size_t>(input);
  Needs needs;
  needs.set(i);
  return rule_again(step, dy, needs)[i];
}

bool differentiable(const Step& step, int input) {
  const Tensor& x = step.raw_input(input);
  const auto i = static_cast<std::size_t>(input);
  return step.input_step(input) >= 0 && x.defined() && is_float(x.dtype()) &&
         !(i < 64 && step.op().parts().constant[i]);
}

bool passes(const Tape& tape, const Step& step, int input) {
  const int from = step.input_step(input);
  const auto i = static_cast<std::size_t>(input);
  if (step.kind() == StepKind::scalars) return from >= 0;
  return step.kind() == StepKind::op && step.op().differentiable() && from >= 0 &&
         is_float(tape.step(from).dtype()) && !(i < 64 && step.op().parts().constant[i]);
}

Needs needs_of(const Tape& tape, const Step& step) {
  Needs needs;
  for (int i = 0; i < step.inputs(); ++i)
    if (differentiable(step, i) && tape.step(step.input_step(i)).needs_gradient())
      needs.set(static_cast<std::size_t>(i));
  return needs;
}

bool brings_gradient(const Tape& tape, const Use& use) {
  const Step reader = tape.step(use.step);
  return reader.kind() == StepKind::op && reader.gradient().defined() &&
         needs_of(tape, reader)[static_cast<std::size_t>(use.input)];
}

Readable readable(const Step& step) {
  for (int i = 0; i < step.inputs(); ++i) {
    if (!step.raw_input(i).defined()) return Readable::freed;
    if (step.overwritten(i)) return Readable::overwritten;
  }
  return step.raw_output().defined() ? Readable::yes : Readable::freed;
}

Origin origin_of(const Tensor& x) {
  const std::uint64_t tape = detail::Body::of(x)->tape;
  return tape == 0 ? Origin::no_tape : detail::alive(tape) ? Origin::live_tape : Origin::ended_tape;
}

bool share_numbers(const Tensor& a, const Tensor& b) {
  return a.defined() && b.defined() && detail::Body::of(a)->storage == detail::Body::of(b)->storage;
}

Tensor only(const Tensor& x, std::int64_t low, std::int64_t high) {
  Tensor y = zeros(x.shape(), x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    const auto from = x.values<T>();
    const auto to = y.writable<T>();
    for (auto i = static_cast<std::size_t>(low); i < static_cast<std::size_t>(high); ++i) to[i] = from[i];
  });
  return y;
}

Tensor scrambled(const Tensor& dy, std::int64_t low, std::int64_t high) {
  Tensor y = zeros(dy.shape(), dy.dtype());
  dispatch_float(dy.dtype(), [&]<class T>(T) {
    const auto from = dy.values<T>();
    const auto to = y.writable<T>();
    for (auto i = static_cast<std::size_t>(low); i < static_cast<std::size_t>(high); ++i) {
      const std::uint64_t bits = mix(i);
      const auto factor = static_cast<T>(0.75 + unit(bits) / 2);
      to[i] = bits & 1 ? from[i] * factor : -from[i] * factor;
    }
  });
  return y;
}

Tensor widened(const Tensor& x) {
  const detail::Quiet quiet;
  const Tensor wide = is_float(x.dtype()) ? x.to(f64) : x;
  return with_shape(wide, wide.shape());
}

std::int64_t first_difference(const Tensor& a, const Tensor& b) {
  std::int64_t found = -1;
  dispatch(a.dtype(), [&]<class T>(T) {
    const auto x = a.values<T>(), y = b.values<T>();
    for (std::size_t i = 0; i < x.size() && found < 0; ++i)
      if (!agree(x[i], y[i])) found = static_cast<std::int64_t>(i);
  });
  return found;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && first_difference(a, b) < 0;
}

double number_at(const Tensor& x, std::int64_t flat) {
  return dispatch(x.dtype(), [&]<class T>(T) {
    return static_cast<double>(x.values<T>()[static_cast<std::size_t>(flat)]);
  });
}

}  // namespace pencil::inspect
