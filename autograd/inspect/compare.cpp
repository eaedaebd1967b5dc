#include "autograd/inspect/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "autograd/inspect/explain.hpp"
#include "autograd/inspect/facts.hpp"
#include "autograd/inspect/replay.hpp"
#include "autograd/inspect/statements.hpp"
#include "autograd/inspect/wording.hpp"

namespace pencil {

namespace {

using Difference = Comparison::Difference;

// Numbers with all their digits: what differs in the last bit must look different.
std::string digits_of(const Tensor& x, std::int64_t element) {
  std::string text;
  dispatch(x.dtype(),
           [&]<class T>(T) { text = fmt::format("{}", x.values<T>()[static_cast<std::size_t>(element)]); });
  return text;
}

std::string input_text(const Step& step, int i) {
  if (step.input_step(i) >= 0) return fmt::format("input {} is step {}", i, step.input_step(i));
  const Tensor& number = step.raw_input(i);
  return number.size() == 1 ? fmt::format("input {} is the number {}", i, digits_of(number, 0))
                            : fmt::format("input {} is {} plain numbers", i, number.size());
}

bool same_setting(const Attributes::Entry& a, const Attributes::Entry& b) {
  const double *x = std::get_if<double>(&a.value), *y = std::get_if<double>(&b.value);
  if (x && y) return a.name == b.name && std::bit_cast<std::uint64_t>(*x) == std::bit_cast<std::uint64_t>(*y);
  return a.name == b.name && a.value == b.value;
}

double largest_of(const Tensor& x) {
  double largest = 0;
  dispatch(x.dtype(), [&]<class T>(T) {
    for (const T value : x.values<T>())
      if (const double size = std::abs(static_cast<double>(value)); std::isfinite(size))
        largest = std::max(largest, size);
  });
  return largest;
}

class Compare {
 public:
  Compare(const Tape& a, const Tape& b, const CompareOptions& options)
      : a_(a), b_(b), options_(options), facts_a_(a), facts_b_(b), scalars_a_(a), scalars_b_(b) {
    if (!(options.tolerance >= 0)) fail("[compare] the tolerance is {}; need 0 or more", options.tolerance);
    found_.steps_a = a.size();
    found_.steps_b = b.size();
    found_.tolerance = options.tolerance;
  }

  Comparison run() {
    const int common = std::min(a_.size(), b_.size());
    for (int i = 0; i < common; ++i)
      if (structure(a_.step(i), b_.step(i)) || value(a_.step(i), b_.step(i))) return found_;
    if (length() || backward()) return found_;
    for (int i = common - 1; i >= 0; --i)
      if (blame(a_.step(i), b_.step(i))) return found_;
    return found_;
  }

 private:
  bool part(Difference difference, const Step& step, std::string in_a, std::string in_b) {
    found_.difference = difference;
    found_.step = step.number();
    found_.title = word_of(step, options_.glossary);
    std::string name;
    inspect::append_name(name, step);
    if (!name.empty()) found_.title += " in " + name;
    found_.in_a = std::move(in_a);
    found_.in_b = std::move(in_b);
    return true;
  }

  bool structure(const Step& a, const Step& b) {
    const bool op = a.kind() == StepKind::op || a.kind() == StepKind::paused;
    if (a.kind() != b.kind()) return part(Difference::kind, a, std::string(a.word()), std::string(b.word()));
    if (op && a.op().word() != b.op().word()) return part(Difference::word, a, a.op().word(), b.op().word());
    if (a.dtype() != b.dtype())
      return part(Difference::dtype, a, std::string(name_of(a.dtype())), std::string(name_of(b.dtype())));
    if (!(a.shape() == b.shape()))
      return part(Difference::shape, a, to_string(a.shape()), to_string(b.shape()));
    if (inputs(a, b) || settings(a, b)) return true;
    if (a.role() != b.role()) return part(Difference::role, a, std::string(a.role()), std::string(b.role()));
    if (a.path() != b.path()) return part(Difference::path, a, std::string(a.path()), std::string(b.path()));
    return false;
  }

  bool inputs(const Step& a, const Step& b) {
    if (a.inputs() != b.inputs())
      return part(Difference::inputs, a, fmt::format("{} inputs", a.inputs()),
                  fmt::format("{} inputs", b.inputs()));
    for (int i = 0; i < a.inputs(); ++i) {
      const bool numbers = a.input_step(i) < 0 && b.input_step(i) < 0;
      if (a.input_step(i) != b.input_step(i) || (numbers && !agree(a.raw_input(i), b.raw_input(i))))
        return part(Difference::inputs, a, input_text(a, i), input_text(b, i));
    }
    if (a.gradient_of() == b.gradient_of()) return false;
    const auto text = [](int of) {
      return of < 0 ? std::string("no step of a sweep") : fmt::format("gradient of step {}", of);
    };
    return part(Difference::inputs, a, text(a.gradient_of()), text(b.gradient_of()));
  }

  bool settings(const Step& a, const Step& b) {
    const auto of_a = a.attributes().entries(), of_b = b.attributes().entries();
    const auto text = [](const auto& entries, std::size_t i) {
      return i < entries.size() ? inspect::setting_text(entries[i]) : std::string("no more settings");
    };
    for (std::size_t i = 0; i < std::max(of_a.size(), of_b.size()); ++i)
      if (i >= of_a.size() || i >= of_b.size() || !same_setting(of_a[i], of_b[i]))
        return part(Difference::settings, a, text(of_a, i), text(of_b, i));
    return false;
  }

  bool value(const Step& a, const Step& b) {
    using inspect::ValueFact;
    if (a.kind() == StepKind::scalars) return statements(a, b);
    const ValueFact in_a = facts_a_.value(a), in_b = facts_b_.value(b);
    if (in_a.state == ValueFact::not_recorded) return false;  // in both: their kinds agree
    if (in_a.state != ValueFact::known || in_b.state != ValueFact::known) {
      ++found_.unread;
      return false;
    }
    ++found_.values;
    return numbers(Difference::value, a, in_a.tensor, in_b.tensor);
  }

  // Scalars one by one: what they are computed from, then what they come to.
  bool statements(const Step& a, const Step& b) {
    const auto in_a = scalars_a_.of(a), in_b = scalars_b_.of(b);
    const std::size_t count_a = in_a.last - in_a.first, count_b = in_b.last - in_b.first;
    for (std::size_t k = 0; k < std::min(count_a, count_b); ++k) {
      const std::size_t i = in_a.first + k, j = in_b.first + k;
      const double x = scalars_a_.value(i), y = scalars_b_.value(j);
      if (same_arithmetic(i, j) && !apart(x, y, std::max(std::abs(x), std::abs(y)))) continue;
      return part(same_arithmetic(i, j) ? Difference::value : Difference::inputs, a, scalars_a_.text(i),
                  scalars_b_.text(j));
    }
    if (count_a != count_b)
      return part(Difference::inputs, a, fmt::format("{} Scalars", count_a),
                  fmt::format("{} Scalars", count_b));
    ++found_.values;
    return false;
  }

  bool same_arithmetic(std::size_t i, std::size_t j) const {
    const auto a = scalars_a_.record(i), b = scalars_b_.record(j);
    if (!a || !b) return !a && !b;
    if (a->header.bits != b->header.bits || a->sources.size() != b->sources.size() ||
        !std::ranges::equal(a->numbers, b->numbers))
      return false;
    for (std::size_t k = 0; k < a->sources.size(); ++k) {
      const auto from_a = scalars_a_.at(a->sources[k]), from_b = scalars_b_.at(b->sources[k]);
      if (from_a != from_b) return false;
      if (!from_a && scalars_a_.operand(a->sources[k]) != scalars_b_.operand(b->sources[k])) return false;
    }
    return true;
  }

  bool statement_blames(const Step& a, const Step& b) {
    const auto in_a = scalars_a_.of(a), in_b = scalars_b_.of(b);
    for (std::size_t k = in_a.last - in_a.first; k-- > 0;) {
      const std::size_t i = in_a.first + k, j = in_b.first + k;
      if (!scalars_a_.reached(i) && !scalars_b_.reached(j)) continue;
      const double x = scalars_a_.gradient(i), y = scalars_b_.gradient(j);
      if (!apart(x, y, std::max(std::abs(x), std::abs(y)))) continue;
      return part(Difference::blame, a, fmt::format("{}, of {}", x, scalars_a_.text(i)),
                  fmt::format("{}, of {}", y, scalars_b_.text(j)));
    }
    ++found_.blames;
    return false;
  }

  bool length() {
    if (a_.size() == b_.size()) return false;
    const bool a_ends = a_.size() < b_.size();
    const int end = std::min(a_.size(), b_.size());
    const std::string ends = fmt::format("ends after {} step{}", end, end == 1 ? "" : "s");
    const std::string goes_on = fmt::format("goes on to {}", std::max(a_.size(), b_.size()));
    return part(Difference::length, (a_ends ? b_ : a_).step(end), a_ends ? ends : goes_on,
                a_ends ? goes_on : ends);
  }

  bool backward() {
    const int a = a_.backward_from(), b = b_.backward_from();
    if (a == b) return false;
    const auto text = [](int from) {
      return from < 0 ? std::string("no backward yet") : fmt::format("backward from step {}", from);
    };
    return part(Difference::backward, a_.step(std::max(a, b)), text(a), text(b));
  }

  bool blame(const Step& a, const Step& b) {
    using inspect::BlameFact;
    const BlameFact in_a = facts_a_.blame(a), in_b = facts_b_.blame(b);
    if (in_a.state == BlameFact::freed || in_b.state == BlameFact::freed) {
      ++found_.unread;
      return false;
    }
    if (in_a.state != in_b.state) {
      const auto text = [](BlameFact::State state) { return std::string(inspect::name_of(state)); };
      return part(Difference::blame, a, text(in_a.state), text(in_b.state));
    }
    if (a.kind() == StepKind::scalars && a.reached() && statement_blames(a, b)) return true;
    if (in_a.state != BlameFact::known) return false;
    ++found_.blames;
    return numbers(Difference::blame, a, in_a.tensor, in_b.tensor);
  }

  bool numbers(Difference difference, const Step& step, const Tensor& a, const Tensor& b) {
    const std::int64_t element = first_apart(a, b);
    if (element < 0) return false;
    found_.element = element;
    found_.index = index_text(a.shape(), element);
    found_.a = inspect::number_at(a, element);
    found_.b = inspect::number_at(b, element);
    found_.scale = std::max(largest_of(a), largest_of(b));
    if (difference == Difference::value && step.kind() == StepKind::op) {
      found_.worked_a = worked(a_, step.number(), element);
      found_.worked_b = worked(b_, step.number(), element);
    }
    return part(difference, step, digits_of(a, element), digits_of(b, element));
  }

  // The arithmetic of one number on one of the tapes.
  std::string worked(const Tape& tape, int step, std::int64_t element) const {
    const auto index = index_of(tape.step(step).shape(), element);
    const Explanation how = explained(tape, step, index, {.glossary = options_.glossary});
    std::string text;
    for (const Explanation::Line& line : how.blocks.back().lines) text += line.arithmetic + '\n';
    return text;
  }

  bool agree(const Tensor& a, const Tensor& b) const {
    return a.dtype() == b.dtype() && a.shape() == b.shape() && first_apart(a, b) < 0;
  }

  // Whether two numbers differ by more than the tolerance allows, of numbers as large as `scale`.
  bool apart(double x, double y, double scale) const {
    if (std::isnan(x) && std::isnan(y)) return false;
    if (options_.tolerance == 0) return std::bit_cast<std::uint64_t>(x) != std::bit_cast<std::uint64_t>(y);
    return !(x == y || std::abs(x - y) <= options_.tolerance * scale);
  }

  // The first number of two tensors, of one shape and dtype, that differs by more than the tolerance allows.
  std::int64_t first_apart(const Tensor& a, const Tensor& b) const {
    if (inspect::share_numbers(a, b)) return -1;
    if (options_.tolerance == 0) return inspect::first_difference(a, b);
    const double most = options_.tolerance * std::max(largest_of(a), largest_of(b));
    std::int64_t apart = -1;
    dispatch(a.dtype(), [&]<class T>(T) {
      const auto x = a.values<T>(), y = b.values<T>();
      for (std::size_t i = 0; i < x.size() && apart < 0; ++i) {
        const auto p = static_cast<double>(x[i]), q = static_cast<double>(y[i]);
        if (!(p == q || (std::isnan(p) && std::isnan(q)) || std::abs(p - q) <= most))
          apart = static_cast<std::int64_t>(i);
      }
    });
    return apart;
  }

  const Tape& a_;
  const Tape& b_;
  const CompareOptions& options_;
  inspect::Facts facts_a_, facts_b_;
  ScalarStatements scalars_a_, scalars_b_;
  Comparison found_;
};

std::string indented(std::string_view lines) {
  std::string text;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n') + 1;
    text += "       ";
    text += lines.substr(0, end);
    lines.remove_prefix(end);
  }
  return text;
}

std::string same_text(const Comparison& c) {
  std::string text = fmt::format("the tapes are the same: {} step{}, {} value{}", c.steps_a,
                                 c.steps_a == 1 ? "" : "s", c.values, c.values == 1 ? "" : "s");
  if (c.blames > 0) text += fmt::format(" and {} gradient{}", c.blames, c.blames == 1 ? "" : "s");
  text += c.tolerance == 0 ? " bit for bit\n" : fmt::format(" to {} of their scale\n", c.tolerance);
  return text;
}

}  // namespace

std::string_view name_of(Comparison::Difference difference) {
  switch (difference) {
    case Difference::none:
      return "none";
    case Difference::kind:
      return "kind";
    case Difference::word:
      return "word";
    case Difference::dtype:
      return "dtype";
    case Difference::shape:
      return "shape";
    case Difference::inputs:
      return "inputs";
    case Difference::settings:
      return "settings";
    case Difference::role:
      return "role";
    case Difference::path:
      return "path";
    case Difference::value:
      return "value";
    case Difference::length:
      return "length";
    case Difference::backward:
      return "backward";
    case Difference::blame:
      break;
  }
  return "blame";
}

Comparison compare(const Tape& a, const Tape& b, const CompareOptions& options) {
  return Compare(a, b, options).run();
}

std::string to_string(const Comparison& c) {
  std::string text;
  if (c.same()) {
    text = same_text(c);
  } else if (c.difference == Difference::length) {
    const bool a_ends = c.steps_a < c.steps_b;
    text = fmt::format("{} is the beginning of {}: {} goes on at step {}, {}\n", a_ends ? "a" : "b",
                       a_ends ? "b" : "a", a_ends ? "b" : "a", c.step, c.title);
  } else {
    text = fmt::format("the tapes part at step {} in {}: {}", c.step, name_of(c.difference), c.title);
    if (c.element >= 0) text += fmt::format(", number {}", c.index);
    text += '\n';
  }
  if (!c.same()) {
    const auto shown = [](const std::string& what) { return what.empty() ? std::string("none") : what; };
    text += fmt::format("  a: {}\n{}  b: {}\n{}", shown(c.in_a), indented(c.worked_a), shown(c.in_b),
                        indented(c.worked_b));
  }
  if (c.element >= 0 && std::isfinite(c.a - c.b) && c.scale > 0)
    text += fmt::format("  apart by {:.3g}, {:.3g} of the largest number\n", std::abs(c.a - c.b),
                        std::abs(c.a - c.b) / c.scale);
  if (c.unread > 0)
    text += fmt::format("  {} value{} or gradient{} could not be compared: freed or overwritten\n", c.unread,
                        c.unread == 1 ? "" : "s", c.unread == 1 ? "" : "s");
  return text;
}

}  // namespace pencil
