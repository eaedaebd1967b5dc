// The piece of arithmetic in which a NaN or an infinity arose: the op's own terms, gone through from the
// result down; or, where the op has none, the ops that it or its rule is written in, run again on a tape of
// their own.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/arithmetic.hpp"
#include "autograd/format.hpp"
#include "autograd/nonfinite.hpp"
#include "autograd/scalar_arithmetic.hpp"
#include "autograd/tape_body.hpp"

namespace pencil::detail {

namespace {

// A number as the dtype holds it: infinite beyond its end.
double held(double x, DType dtype) {
  const double end =
      dtype == f32 ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max();
  return std::abs(x) > end ? std::copysign(std::numeric_limits<double>::infinity(), x) : x;
}

// The terms of a worksheet with the values that a dtype gives them, and a way down to the one where the
// result ceased to be finite.
class Terms {
 public:
  Terms(const Worksheet& sheet, DType dtype) : sheet_(sheet), dtype_(dtype) {
    for (const WorkedTerm& term : sheet.terms()) values_.push_back(held(value_of(term), dtype));
  }

  // What made the value of a term, if that is not finite.
  std::string cause(int at) const {
    if (at < 0 || std::isfinite(value(at))) return "";
    const int born = origin(at);
    const WorkedTerm& term = sheet_.terms()[static_cast<std::size_t>(born)];
    if (term.operands == 0) return "";  // an input that held it already
    std::string text = described(born);
    // A NaN of infinities: where did the first of these come from?
    for (const std::int32_t operand : sheet_.operands(term))
      if (std::isinf(value(operand)) && std::isnan(value(born))) {
        const int before = origin(operand);
        if (sheet_.terms()[static_cast<std::size_t>(before)].operands > 0)
          return fmt::format("{}; before it {}", text, described(before));
      }
    return text;
  }

 private:
  double value(int term) const { return values_[static_cast<std::size_t>(term)]; }

  double value_of(const WorkedTerm& term) const {
    std::vector<double> x;
    for (const std::int32_t operand : sheet_.operands(term)) x.push_back(value(operand));
    switch (term.kind) {
      case WorkedKind::negative:
        return -x[0];
      case WorkedKind::sum: {
        double total = 0;
        for (const double each : x) total = held(total + each, dtype_);
        return total;
      }
      case WorkedKind::difference:
        return x[0] - x[1];
      case WorkedKind::product:
        return x[0] * x[1];
      case WorkedKind::quotient:
        return x[0] / x[1];
      case WorkedKind::call:
        return called(term.function, x);
      case WorkedKind::choice:
        return x[0];
      case WorkedKind::number:
      case WorkedKind::input:
        break;
    }
    return term.value;
  }

  // Down from a term that is not finite to the one that was the first not to be: a NaN to where no operand is
  // NaN, an infinity to where none is infinite.
  int origin(int at) const {
    for (;;) {
      const WorkedTerm& term = sheet_.terms()[static_cast<std::size_t>(at)];
      auto operands = sheet_.operands(term);
      if (term.kind == WorkedKind::choice) operands = operands.first(1);
      const bool nan = std::isnan(value(at));
      const auto guilty = std::ranges::find_if(
          operands, [&](std::int32_t i) { return nan ? std::isnan(value(i)) : !std::isfinite(value(i)); });
      if (guilty == operands.end()) return at;
      at = *guilty;
    }
  }

  // "log(-1) = nan, the log of a number below 0"
  std::string described(int at) const {
    const WorkedTerm& term = sheet_.terms()[static_cast<std::size_t>(at)];
    std::vector<double> x;
    for (const std::int32_t operand : sheet_.operands(term)) x.push_back(value(operand));
    return fmt::format("{} = {}, {}", expression(term, x), number_text(value(at)),
                       reason(term, x, value(at)));
  }

  static std::string expression(const WorkedTerm& term, std::span<const double> x) {
    std::vector<std::string> texts;
    for (const double each : x) texts.push_back(number_text(each));
    constexpr std::size_t most = 4;
    switch (term.kind) {
      case WorkedKind::sum:
        if (x.size() <= most) return fmt::format("{}", fmt::join(texts, " + "));
        texts.resize(most - 1);
        return fmt::format("{} + … ({} more)", fmt::join(texts, " + "), x.size() - texts.size());
      case WorkedKind::difference:
        return fmt::format("{}", fmt::join(texts, " - "));
      case WorkedKind::product:
        return fmt::format("{}", fmt::join(texts, " * "));
      case WorkedKind::quotient:
        return fmt::format("{}", fmt::join(texts, " / "));
      case WorkedKind::call:
        return fmt::format("{}({})", term.function, fmt::join(texts, ", "));
      default:
        return texts.empty() ? "" : texts[0];
    }
  }

  std::string reason(const WorkedTerm& term, std::span<const double> x, double y) const {
    const std::string_view f = term.function;
    if (std::isnan(y)) {
      if (term.kind == WorkedKind::product) return "zero times infinity";
      if (term.kind == WorkedKind::quotient) return x[1] == 0 ? "zero over zero" : "infinity over infinity";
      if (term.kind == WorkedKind::sum || term.kind == WorkedKind::difference)
        return "infinity minus infinity";
      if (f == "log" || f == "log1p") return fmt::format("the log of a number below {}", f == "log" ? 0 : -1);
      if (f == "sqrt" || f == "rsqrt") return "the root of a number below 0";
      if (f == "pow") return "a power of a number below 0";
      return "which has no value";
    }
    if (term.kind == WorkedKind::quotient && x[1] == 0) return "a division by 0";
    if ((f == "log" && x[0] == 0) || (f == "log1p" && x[0] == -1)) return "the log of 0";
    if (f == "rsqrt" && x[0] == 0) return "a division by the root of 0";
    if (f == "pow" && x[0] == 0) return "0 to a power below 0";
    return fmt::format("an overflow: {} ends at {}", name_of(dtype_),
                       number_text(dtype_ == f32 ? double{std::numeric_limits<float>::max()}
                                                 : std::numeric_limits<double>::max()));
  }

  const Worksheet& sheet_;
  DType dtype_;
  std::vector<double> values_;
};

// By the op's own terms.
std::string own_arithmetic(const Step& step, std::int64_t element) {
  const auto& explain = step.op().parts().explain;
  if (!explain) return "";
  Worksheet sheet(step);
  const Worked result = explain(sheet, element);
  return Terms(sheet, step.raw_output().dtype()).cause(result.term());
}

// The first step on a tape, of those from `first` on, that made what it was not given.
Cause first_cause(const Tape& tape, int first) {
  for (int i = first; i < tape.size(); ++i) {
    const Step step = tape.step(i);
    if (step.kind() != StepKind::op) continue;
    if (const auto found = nonfinite_forward(step))
      return {found->arithmetic, found->within.empty() ? found->word : found->within};
  }
  return {};
}

std::vector<Tensor> inputs_of(const Step& step) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < step.inputs(); ++i) inputs.push_back(step.input(i));
  return inputs;
}

}  // namespace

Cause cause_of_value(const Step& step, std::int64_t element) try {
  for (int i = 0; i < step.inputs(); ++i)
    if (const Tensor& x = step.raw_input(i); step.input_step(i) < 0 && first_nan(x) >= 0)
      return {"it was given the number nan", ""};
  if (std::string text = own_arithmetic(step, element); !text.empty()) return {std::move(text), ""};
  const OpParts& parts = step.op().parts();
  if (!parts.composed) return {};
  const Tape tape{{.detail = Detail::steps}};
  const Tensor output = parts.composed(inputs_of(step), step.attributes());
  return first_cause(tape, 0);
} catch (const Error&) {  // what it read was overwritten
  return {};
}

Cause cause_of_gradient(const Step& step, const Tensor& dy, int input) try {
  Needs needs;
  needs.set(static_cast<std::size_t>(input));
  {
    const Tape tape;
    const Gradients given = rule_of(step, dy, needs, true);
    if (Cause cause = first_cause(tape, 0); !cause.within.empty()) return cause;
  }
  const OpParts& parts = step.op().parts();
  if (!parts.composed) return {};
  Tape tape{{.detail = Detail::steps}};
  std::vector<Tensor> inputs = inputs_of(step);
  Tensor& x = inputs[static_cast<std::size_t>(input)];
  x = with_shape(x, x.shape());  // a handle of its own, should it stand twice
  const Tensor y = parts.composed(inputs, step.attributes());
  const int first = tape.size();
  const std::vector<Tensor> gradient = tape.gradient(y, {x}, {.upstream = dy, .record = true});
  return first_cause(tape, first);
} catch (const Error&) {
  return {};
}

Cause cause_of_statement(const Step& step, const Statements& statements, const RecordView& record) {
  for (const std::uint32_t source : record.sources)
    if (std::isnan(statements.words()[source]) && statements.is_constant(source))
      return {"it was given the number nan", ""};
  if (!record.is_known()) return {};
  Worksheet sheet(step);
  const Worked result = arithmetic_of(sheet, statements.words(), record);
  return {Terms(sheet, f64).cause(result.term()), ""};
}

Cause cause_of_sum(double a, double b, DType dtype) {
  const double sum = held(a + b, dtype);
  return {fmt::format("{} + {} = {}, {}", number_text(a), number_text(b), number_text(sum),
                      std::isnan(sum) ? std::string("infinity minus infinity")
                                      : fmt::format("an overflow of {}", name_of(dtype))),
          ""};
}

}  // namespace pencil::detail
