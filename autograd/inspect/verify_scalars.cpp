#include "autograd/inspect/verify_scalars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "autograd/inspect/statements.hpp"
#include "autograd/scalar_arithmetic.hpp"
#include "autograd/tape_body.hpp"

namespace pencil::inspect {

namespace {

using detail::Operation;
using detail::RecordView;
using Real = long double;
using Part = Verification::Part;

constexpr Real rounding = 0x1p-53L;  // of one operation in double, relative

// A number and what it may be off by, had each operation been rounded to double.
struct Bounded {
  Real value = 0, error = 0;
};

Bounded computed(Operation operation, const Bounded& a, const Bounded& b) {
  Bounded y{detail::computed(operation, a.value, b.value), 0};
  const auto moved = [&](Real x, Real z) {
    const Real difference = std::abs(detail::computed(operation, x, z) - y.value);
    if (std::isfinite(difference)) y.error = std::max(y.error, difference);
  };
  for (const Real da : {-a.error, a.error})
    for (const Real db : {-b.error, b.error})
      if (da != 0 || db != 0) moved(a.value + da, b.value + db);
  constexpr Real operations = 4;  // functions may be off by a little more than half of the last digit
  y.error += operations * rounding * std::abs(y.value) + std::numeric_limits<double>::denorm_min();
  return y;
}

// A statement over a range, its operands being x.
Bounded over_range(Operation operation, const std::vector<Real>& x) {
  Bounded y;
  Real size = 0;  // of all that is added up
  const auto add = [&](Real term) {
    y.value += term;
    size += std::abs(term);
  };
  if (operation == Operation::dot) {
    for (std::size_t i = 0; i < x.size() / 2; ++i) add(x[i] * x[x.size() / 2 + i]);
  } else if (operation == Operation::log_sum_exp) {
    const Real most = *std::ranges::max_element(x);
    if (std::isinf(most)) return {most, 0};
    for (const Real each : x) add(std::exp(each - most));
    y.value = most + std::log(y.value);
    size = 1 + std::abs(most);
  } else {
    for (const Real each : x) add(each);
    const Real count = operation == Operation::mean ? static_cast<Real>(x.size()) : 1;
    y.value /= count;
    size /= count;
  }
  y.error = static_cast<Real>(x.size() + 4) * rounding * size;
  return y;
}

bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

class Verifier {
 public:
  Verifier(const Tape& tape, const VerifyOptions& options, Verification& found)
      : scalars_(tape), options_(options), found_(found) {
    statements_ = detail::body_of(tape).statements.get();
  }

  void run(bool swept) {
    if (!statements_) return;
    words_ = statements_->words();
    for (std::size_t i = 0; i < scalars_.size(); ++i)
      if (const auto record = scalars_.record(i); record && record->is_known()) visit(i, *record);
    if (swept) add_up_again();
  }

 private:
  void fault(std::size_t i, Part part, const std::string& text) {
    const std::string formula = scalars_.formula(i);
    found_.faults.push_back(
        {scalars_.step(i), "scalars", part,
         fmt::format("{}{}{}: {}", scalars_.label(i), formula.empty() ? "" : " = ", formula, text)});
  }

  std::vector<Real> operands(const RecordView& record) const {
    std::vector<Real> x;
    for (const std::uint32_t source : record.sources) x.push_back(words_[source]);
    return x;
  }

  static Bounded formula(const RecordView& record, const std::vector<Real>& x) {
    return detail::walk_formula<Bounded>(
        record,
        [&](std::size_t k) {
          return Bounded{x[k], 0};
        },
        [](double number) {
          return Bounded{number, 0};
        },
        [](Operation operation, const Bounded& a, const Bounded& b) { return computed(operation, a, b); });
  }
  static double in_double(const RecordView& record, const std::vector<Real>& x) {
    return detail::walk_formula<double>(
        record, [&](std::size_t k) { return static_cast<double>(x[k]); },
        [](double number) { return number; },
        [](Operation operation, double a, double b) { return detail::computed(operation, a, b); });
  }

  void visit(std::size_t i, const RecordView& record) {
    ++found_.statements;
    const std::vector<Real> x = operands(record);
    const bool range = record.is_range();
    const Bounded again =
        range ? over_range(static_cast<Operation>(record.header.formula()), x) : formula(record, x);
    const double recorded = scalars_.value(i);
    const auto near = [&](double y) {
      return same(recorded, y) || std::abs(recorded - again.value) <= again.error;
    };
    if (!near(static_cast<double>(again.value)) && (range || !near(in_double(record, x))))
      return fault(i, Part::forward,
                   fmt::format("the value is recorded as {:.17g}; the arithmetic gives {:.17g}", recorded,
                               static_cast<double>(again.value)));
    if (!std::isfinite(recorded)) return;
    for (std::size_t k = 0; k < x.size(); ++k)
      if (std::string text = range ? range_slope(record, x, k, again.value) : slope(record, x, k);
          !text.empty())
        return fault(i, Part::rule, text);
  }

  std::string differs(const RecordView& record, std::size_t k, Real right) const {
    return fmt::format("the slope by {} is recorded as {:.9g}; differences give {:.9g}",
                       scalars_.operand(record.sources[k]), detail::slope_of(record, k),
                       static_cast<double>(right));
  }

  // Central differences, in steps of two sizes: beside an operand that is much smaller than what it is added
  // to, a step relative to it drowns in rounding.
  std::string slope(const RecordView& record, const std::vector<Real>& x, std::size_t k) {
    const Real recorded = detail::slope_of(record, k);
    std::string text;
    for (const Real step : {std::max(std::abs(x[k]), Real{1e-290L}) * 1e-6L, Real{1e-6L}}) {
      std::vector<Real> moved = x;
      const auto at = [&](Real by) {
        moved[k] = x[k] + by;
        return formula(record, moved);
      };
      const Bounded low = at(-step), here = at(0), high = at(step);
      const Real left = (here.value - low.value) / step, right = (high.value - here.value) / step;
      const Real middle = (high.value - low.value) / (2 * step);
      if (!std::isfinite(middle) || !std::isfinite(recorded)) return "";  // at an end of what is defined
      constexpr Real finer = 0x1p-10L;  // long double's rounding, in double's
      const Real noise = (low.error + high.error) * finer / step,
                 size = std::max(std::abs(recorded), std::abs(middle));
      const Real most = static_cast<Real>(options_.relative) * size;
      if (std::abs(recorded - middle) <= most + noise) {
        found_.statement_slopes += noise <= most;
        return "";
      }
      if (std::abs(left - right) > 1e-3L * size) return "";  // a kink
      text = differs(record, k, middle);
    }
    return text;
  }

  std::string range_slope(const RecordView& record, const std::vector<Real>& x, std::size_t k, Real value) {
    const std::size_t half = x.size() / 2;
    Real right = 1;
    switch (static_cast<Operation>(record.header.formula())) {
      case Operation::mean:
        right = 1 / static_cast<Real>(x.size());
        break;
      case Operation::dot:
        right = x[k < half ? half + k : k - half];
        break;
      case Operation::log_sum_exp:
        right = std::exp(x[k] - value);
        break;
      default:
        break;
    }
    const Real recorded = detail::slope_of(record, k);
    const bool agrees = std::abs(recorded - right) <= static_cast<Real>(options_.relative) * std::abs(right) +
                                                          std::numeric_limits<double>::min();
    found_.statement_slopes += agrees;
    return agrees ? "" : differs(record, k, right);
  }

  // What the readers of each Scalar give it, from the recorded gradients of these.
  void add_up_again() {
    const auto end = static_cast<std::uint32_t>(statements_->state().swept) + 2;
    std::vector<double> totals(end), sizes(end);
    const auto give = [&](std::uint32_t place, double gradient) {
      if (place >= end) return;
      totals[place] += gradient;
      sizes[place] += std::abs(gradient);
    };
    if (statements_->swept_from > 0) give(statements_->swept_from, 1);
    for (const detail::Run& run : statements_->runs) {
      const Tensor& dy = scalars_.tape().step(run.step).gradient();
      for (std::size_t i = 0; dy.defined() && i < run.stacked.size(); ++i)
        if (run.stacked[i] > 0) give(run.stacked[i], dy.values<double>()[i]);
    }
    for (std::size_t i = scalars_.size(); i-- > 0;) {
      if (!scalars_.reached(i)) continue;
      const double gradient = scalars_.gradient(i);
      const auto record = scalars_.record(i);
      for (std::size_t k = 0; record && gradient != 0 && k < record->sources.size(); ++k)
        give(record->sources[k], gradient * detail::slope_of(*record, k));
    }
    for (std::size_t i = 0; i < scalars_.size(); ++i) {
      if (!scalars_.reached(i)) continue;
      ++found_.statement_blames;
      const double recorded = scalars_.gradient(i), again = totals[scalars_.place(i)];
      constexpr double many = 1e-12;
      if (!same(recorded, again) && !(std::abs(recorded - again) <= many * sizes[scalars_.place(i)]))
        fault(i, Part::blame,
              fmt::format("the gradient is recorded as {:.17g}; the sum over its readers is {:.17g}",
                          recorded, again));
    }
  }

  ScalarStatements scalars_;
  const VerifyOptions& options_;
  Verification& found_;
  const detail::Statements* statements_;
  const double* words_ = nullptr;
};

}  // namespace

void verify_scalars(const Tape& tape, const VerifyOptions& options, Verification& found) {
  Verifier(tape, options, found).run(tape.backward_from() >= 0 && tape.options().keep == Keep::all);
}

}  // namespace pencil::inspect
