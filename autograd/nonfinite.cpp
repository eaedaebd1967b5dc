#include "autograd/nonfinite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "autograd/format.hpp"
#include "autograd/tape_body.hpp"

namespace pencil {

namespace detail {

namespace {

// Whether all numbers are finite: by their bits, without a branch, so that the loop is a few lanes wide.
template <class T>
bool all_finite(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  const Bits exponent = std::bit_cast<Bits>(std::numeric_limits<T>::infinity());
  Bits bad = 0;
  for (const T value : values) bad |= (std::bit_cast<Bits>(value) & exponent) == exponent;
  return bad == 0;
}

// What a tensor holds.
struct Holds {
  bool infinity = false;
  bool nan = false;

  void look(const Tensor& x) {
    if (!x.defined() || first_not_finite(x) < 0) return;
    (first_nan(x) < 0 ? infinity : nan) = true;
  }
  void look(double x) {
    infinity = infinity || std::isinf(x);
    nan = nan || std::isnan(x);
  }
};

// Where `made` holds a number that is no fault of what it was made of; −1 if nowhere.
std::int64_t fault(const Tensor& made, const Holds& before) {
  if (before.nan) return -1;
  return before.infinity ? first_nan(made) : first_not_finite(made);
}

double number(const Tensor& x, std::int64_t element) {
  return dispatch_float(x.dtype(), [&]<class T>(T) {
    return static_cast<double>(x.values<T>()[static_cast<std::size_t>(element)]);
  });
}

NonFinite described(const Step& step, NonFinite::Origin origin, const Tensor& x, std::int64_t element) {
  NonFinite found{.origin = origin,
                  .step = step.number(),
                  .word = std::string(step.word()),
                  .name = std::string(step.name()),
                  .path = std::string(step.path()),
                  .where = step.where(),
                  .called = step.called(),
                  .shape = x.shape(),
                  .element = element,
                  .value = number(x, element)};
  dispatch_float(x.dtype(), [&]<class T>(T) {
    for (const T value : x.values<T>()) found.count += !std::isfinite(value);
  });
  return found;
}

void explain(NonFinite& found, Cause cause) {
  found.arithmetic = std::move(cause.arithmetic);
  found.within = std::move(cause.within);
}

}  // namespace

std::int64_t first_not_finite(const Tensor& x) {
  if (!is_float(x.dtype())) return -1;
  return dispatch_float(x.dtype(), [&]<class T>(T) -> std::int64_t {
    const auto values = x.values<T>();
    if (all_finite(values)) return -1;
    return std::ranges::find_if(values, [](T value) { return !std::isfinite(value); }) - values.begin();
  });
}

std::int64_t first_nan(const Tensor& x) {
  if (!is_float(x.dtype())) return -1;
  return dispatch_float(x.dtype(), [&]<class T>(T) -> std::int64_t {
    const auto values = x.values<T>();
    const auto found = std::ranges::find_if(values, [](T value) { return std::isnan(value); });
    return found == values.end() ? -1 : found - values.begin();
  });
}

NonFinite nonfinite_held(const Step& step, const Tensor& x, NonFinite::Origin origin) {
  return described(step, origin, x, first_not_finite(x));
}

std::optional<NonFinite> nonfinite_forward(const Step& step) {
  const Tensor& output = step.raw_output();
  if (step.kind() == StepKind::scalars) return std::nullopt;  // TapeBody::nonfinite_statement looks at those
  if (!output.defined() || first_not_finite(output) < 0) return std::nullopt;
  if (step.kind() != StepKind::op) {
    if (step.kind() != StepKind::parameter && first_nan(output) < 0) return std::nullopt;
    return nonfinite_held(step, output, NonFinite::Origin::leaf);
  }
  Holds before;  // a NaN that stands in the user's line is this step's own
  for (int i = 0; i < step.inputs(); ++i) {
    Holds input;
    input.look(step.raw_input(i));
    before.infinity = before.infinity || input.infinity;
    before.nan = before.nan || (input.nan && step.input_step(i) >= 0);
  }
  for (const Attributes::Entry& entry : step.attributes().entries())
    if (const double* value = std::get_if<double>(&entry.value))
      before.infinity = before.infinity || std::isinf(*value);
  const std::int64_t element = fault(output, before);
  if (element < 0) return std::nullopt;
  NonFinite found = described(step, NonFinite::Origin::forward, output, element);
  found.out_of_infinity = before.infinity;
  explain(found, cause_of_value(step, element));
  return found;
}

std::optional<NonFinite> nonfinite_rule(const Step& step, const Tensor& dy, Needs needs,
                                        const Gradients& given) {
  Holds before;
  before.look(dy);
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!needs[i] || !given[i].defined()) continue;
    const std::int64_t element = fault(given[i], before);
    if (element < 0) continue;
    NonFinite found = described(step, NonFinite::Origin::rule, given[i], element);
    found.input = static_cast<int>(i);
    found.out_of_infinity = before.infinity;
    explain(found, cause_of_gradient(step, dy, found.input));
    return found;
  }
  return std::nullopt;
}

std::optional<NonFinite> nonfinite_sum(const Step& step, const Tensor& a, const Tensor& b,
                                       const Tensor& sum) {
  Holds before;
  before.look(a);
  before.look(b);
  const std::int64_t element = fault(sum, before);
  if (element < 0) return std::nullopt;
  NonFinite found = described(step, NonFinite::Origin::sum, sum, element);
  found.out_of_infinity = before.infinity;
  explain(found, cause_of_sum(number(a, element), number(b, element), sum.dtype()));
  return found;
}

}  // namespace detail

std::string to_string(const NonFinite& found) {
  using enum NonFinite::Origin;
  std::string line = to_string(found.where);
  if (const std::string from = to_string(found.called); from != line) line += fmt::format(", from {}", from);
  std::string place = fmt::format("step {}", found.step);
  for (const std::string& part : {found.path, line})
    if (!part.empty()) place += fmt::format(", {}", part);
  const std::string value = number_text(found.value);
  const std::string name = found.name.empty() ? "" : fmt::format(" '{}'", found.name);
  const char* of = found.out_of_infinity ? "infinities" : "finite numbers";
  const std::string at =
      found.shape.rank() == 0
          ? ""
          : fmt::format(" at {} of {}", index_text(found.shape, found.element), found.shape);

  std::string text;
  switch (found.origin) {
    case leaf:
      text = fmt::format("[{}]{} held {} already{} ({})", found.word, name, value, at, place);
      break;
    case upstream:
      text = fmt::format("[backward] the gradient it began with held {} already{} ({})", value, at, place);
      break;
    case forward:
      text = fmt::format("[{}]{} made {} of {}{} ({})", found.word, name, value, of, at, place);
      break;
    case rule:
      if (found.input < 0) {  // of a scalar statement
        text = fmt::format("[{}]{} its slope made a gradient of {} out of {} ({})", found.word, name, value,
                           of, place);
        break;
      }
      text = fmt::format("[{}] the rule made {} of {}, for input {}{} ({})", found.word, value, of,
                         found.input, at, place);
      break;
    case sum:
      text = fmt::format("[{}]{} adding up its gradients made {} of {}{} ({})", found.word, name, value, of,
                         at, place);
      break;
  }
  if (!found.arithmetic.empty()) text += fmt::format(": {}", found.arithmetic);
  if (!found.within.empty())
    text += fmt::format("{} in {}", found.arithmetic.empty() ? ":" : ",", found.within);
  if (found.count > 1)
    text += fmt::format("; {} of {} numbers are not finite", found.count, found.shape.size());
  if (found.passed_on.empty()) return text;

  constexpr std::size_t most = 8;
  text += "\npassed on by";
  for (std::size_t i = 0; i < std::min(most, found.passed_on.size()); ++i)
    text += fmt::format(" {}", found.passed_on[i]);
  if (found.passed_on.size() > most) text += fmt::format(" … {} more", found.passed_on.size() - most);
  return text;
}

namespace detail {

[[noreturn]] static void stop(TapeBody& tape, NonFinite found) {
  tape.nonfinite = std::make_shared<const NonFinite>(std::move(found));
  throw Error(to_string(*tape.nonfinite));
}

void TapeBody::guard_statements() {
  if (!statements || !options.stop_on_nonfinite) return;
  close_run();
  const std::uint32_t end = statements->end();
  if (auto found = nonfinite_statement(std::exchange(statements->guarded, end), end))
    stop(*this, std::move(*found));
}

void TapeBody::guard_sweep(const Run& run, std::uint32_t from) {
  if (auto found = nonfinite_slope(run, from)) stop(*this, std::move(*found));
}

void TapeBody::guard_forward(int first) {
  guard_statements();
  for (int i = first; i < size; ++i)
    if (auto found = nonfinite_forward(Step(this, i))) stop(*this, std::move(*found));
}

void TapeBody::guard_start(int number, const Tensor& upstream) {
  if (upstream.defined() && first_not_finite(upstream) >= 0)  // none where it starts from a Scalar
    stop(*this, nonfinite_held(Step(this, number), upstream, NonFinite::Origin::upstream));
}

void TapeBody::guard_rule(int number, const Tensor& dy, Needs needs, const Gradients& given) {
  if (auto found = nonfinite_rule(Step(this, number), dy, needs, given)) stop(*this, std::move(*found));
}

void TapeBody::guard_sum(int number, const Tensor& a, const Tensor& b, const Tensor& sum) {
  if (auto found = nonfinite_sum(Step(this, number), a, b, sum)) stop(*this, std::move(*found));
}

}  // namespace detail
}  // namespace pencil
