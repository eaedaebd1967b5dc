#include "autograd/arithmetic.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace pencil {

namespace {

bool is_plain(const Worked& x, double value) { return x.plain() && x.value() == value; }

double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double smaller(double a, double b) { return std::isnan(a) || a < b ? a : b; }

}  // namespace

double detail::called(std::string_view function, std::span<const double> x) {
  struct Function {
    std::string_view name;
    double (*of)(double);
  };
  static constexpr Function functions[] = {
      {"exp", [](double a) { return std::exp(a); }},   {"expm1", [](double a) { return std::expm1(a); }},
      {"log", [](double a) { return std::log(a); }},   {"log1p", [](double a) { return std::log1p(a); }},
      {"sqrt", [](double a) { return std::sqrt(a); }}, {"rsqrt", [](double a) { return 1 / std::sqrt(a); }},
      {"sin", [](double a) { return std::sin(a); }},   {"cos", [](double a) { return std::cos(a); }},
      {"tan", [](double a) { return std::tan(a); }},   {"asin", [](double a) { return std::asin(a); }},
      {"acos", [](double a) { return std::acos(a); }}, {"atan", [](double a) { return std::atan(a); }},
      {"sinh", [](double a) { return std::sinh(a); }}, {"cosh", [](double a) { return std::cosh(a); }},
      {"tanh", [](double a) { return std::tanh(a); }}, {"erf", [](double a) { return std::erf(a); }},
      {"abs", [](double a) { return std::abs(a); }},   {"trunc", [](double a) { return std::trunc(a); }}};
  if (!x.empty() && (function == "max" || function == "min"))
    return std::accumulate(x.begin() + 1, x.end(), x[0], function == "max" ? larger : smaller);
  if (x.size() == 2 && function == "pow") return std::pow(x[0], x[1]);
  if (x.size() == 2 && function == "hypot") return std::hypot(x[0], x[1]);
  const auto found = std::ranges::find(functions, function, &Function::name);
  return x.size() == 1 && found != std::end(functions) ? found->of(x[0])
                                                       : std::numeric_limits<double>::quiet_NaN();
}

std::int32_t Worksheet::term_of(const Worked& x) {
  if (!x.plain()) return x.term();
  terms_.push_back({.value = x.value()});
  return static_cast<std::int32_t>(terms_.size()) - 1;
}

Worked Worksheet::add(WorkedTerm term, std::span<const Worked> operands) {
  std::vector<std::int32_t> places;
  places.reserve(operands.size());
  for (const Worked& x : operands) places.push_back(term_of(x));
  term.first = static_cast<std::int32_t>(operands_.size());
  term.operands = static_cast<std::int32_t>(places.size());
  operands_.insert(operands_.end(), places.begin(), places.end());
  terms_.push_back(term);
  return {this, static_cast<int>(terms_.size()) - 1, term.value};
}

double Worksheet::read(int i, std::int64_t element) const {
  const Tensor& x = step_.input(i);
  if (element < 0 || element >= x.size())
    fail("[{}] input {} of shape {} has no number {}", step_.word(), i, x.shape(), element);
  double value = 0;
  dispatch(x.dtype(), [&]<class T>(T) {
    value = static_cast<double>(x.values<T>()[static_cast<std::size_t>(element)]);
  });
  return value;
}

Worked Worksheet::input(int i, std::int64_t element) {
  const double value = read(i, element);
  return add({.kind = WorkedKind::input, .input = i, .element = element, .value = value}, {});
}

std::int64_t Worksheet::broadcast_place(int i, std::int64_t element) const {
  const Shape &to = step_.shape(), &from = step_.input(i).shape();
  std::int64_t place = 0, stride = 1;
  for (int axis = from.rank() - 1, wide = to.rank() - 1; axis >= 0; --axis, --wide) {
    const std::int64_t at = element % to[wide];
    element /= to[wide];
    if (from[axis] != 1) place += at * stride;
    stride *= from[axis];
  }
  return place;
}

Worked Worksheet::number(double value) { return add({.value = value}, {}); }

Worked Worksheet::sum(std::span<const Worked> terms) {
  double total = 0;
  for (const Worked& x : terms) total += x.value();
  return add({.kind = WorkedKind::sum, .value = total}, terms);
}

Worked Worksheet::call(std::string_view function, double value, std::span<const Worked> operands) {
  return add({.kind = WorkedKind::call, .value = value, .function = function}, operands);
}

Worked Worksheet::line(std::string_view role, const Worked& x) {
  const std::int32_t term = term_of(x);
  lines_.push_back({role, term});
  return {this, term, x.value()};
}

Worked Worked::combined(const WorkedTerm& term, std::initializer_list<Worked> operands) {
  for (const Worked& x : operands)
    if (!x.plain()) return x.sheet_->add(term, std::span(operands.begin(), operands.size()));
  return term.value;
}

Worked operator-(const Worked& a) {
  return Worked::combined({.kind = WorkedKind::negative, .value = -a.value()}, {a});
}

Worked operator+(const Worked& a, const Worked& b) {
  if (is_plain(a, 0)) return b;
  if (is_plain(b, 0)) return a;
  return Worked::combined({.kind = WorkedKind::sum, .value = a.value() + b.value()}, {a, b});
}

Worked operator-(const Worked& a, const Worked& b) {
  if (is_plain(a, 0)) return -b;
  if (is_plain(b, 0)) return a;
  return Worked::combined({.kind = WorkedKind::difference, .value = a.value() - b.value()}, {a, b});
}

Worked operator*(const Worked& a, const Worked& b) {
  if (is_plain(a, 0) || is_plain(b, 0)) return 0;
  if (is_plain(a, 1)) return b;
  if (is_plain(b, 1)) return a;
  return Worked::combined({.kind = WorkedKind::product, .value = a.value() * b.value()}, {a, b});
}

Worked operator/(const Worked& a, const Worked& b) {
  if (is_plain(a, 0)) return 0;
  if (is_plain(b, 1)) return a;
  return Worked::combined({.kind = WorkedKind::quotient, .value = a.value() / b.value()}, {a, b});
}

Worked exp(const Worked& x) { return Worked::called("exp", std::exp(x.value()), {x}); }
Worked expm1(const Worked& x) { return Worked::called("expm1", std::expm1(x.value()), {x}); }
Worked log(const Worked& x) { return Worked::called("log", std::log(x.value()), {x}); }
Worked log1p(const Worked& x) { return Worked::called("log1p", std::log1p(x.value()), {x}); }
Worked sqrt(const Worked& x) { return Worked::called("sqrt", std::sqrt(x.value()), {x}); }
Worked rsqrt(const Worked& x) { return Worked::called("rsqrt", 1 / std::sqrt(x.value()), {x}); }
Worked sin(const Worked& x) { return Worked::called("sin", std::sin(x.value()), {x}); }
Worked cos(const Worked& x) { return Worked::called("cos", std::cos(x.value()), {x}); }
Worked tanh(const Worked& x) { return Worked::called("tanh", std::tanh(x.value()), {x}); }
Worked erf(const Worked& x) { return Worked::called("erf", std::erf(x.value()), {x}); }
Worked abs(const Worked& x) { return Worked::called("abs", std::abs(x.value()), {x}); }

Worked pow(const Worked& a, const Worked& b) {
  return Worked::called("pow", std::pow(a.value(), b.value()), {a, b});
}

Worked max(const Worked& a, const Worked& b) {
  return Worked::called("max", larger(a.value(), b.value()), {a, b});
}

Worked min(const Worked& a, const Worked& b) {
  return Worked::called("min", smaller(a.value(), b.value()), {a, b});
}

Worked select(const Condition& condition, const Worked& a, const Worked& b) {
  const Worked& taken = condition.holds ? a : b;
  if (condition.left.plain() && condition.right.plain()) return taken;
  return Worked::combined({.kind = WorkedKind::choice,
                           .held = condition.holds,
                           .value = taken.value(),
                           .function = condition.sign},
                          {taken, condition.left, condition.right});
}

}  // namespace pencil
