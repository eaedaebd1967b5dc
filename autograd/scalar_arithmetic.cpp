#include "autograd/scalar_arithmetic.hpp"

#include <array>

namespace pencil::detail {

namespace {

Worked node(Worksheet& sheet, Operation operation, const Worked& a, const Worked& b) {
  switch (operation) {
    case Operation::add:
      return a + b;
    case Operation::subtract:
      return a - b;
    case Operation::multiply:
      return a * b;
    case Operation::divide:
      return a / b;
    case Operation::negate:
      return -a;
    default:
      break;
  }
  const std::array operands{a, b};
  return sheet.call(name_of(operation), computed(operation, a.value(), b.value()),
                    std::span(operands).first(takes_two(operation) ? 2 : 1));
}

Worked over_range(Worksheet& sheet, Operation operation, std::span<const Worked> x) {
  if (operation == Operation::sum) return sheet.sum(x);
  if (operation == Operation::mean) return sheet.sum(x) / sheet.number(static_cast<double>(x.size()));
  std::vector<Worked> terms;
  if (operation == Operation::dot) {
    const std::size_t half = x.size() / 2;
    for (std::size_t i = 0; i < half; ++i) terms.push_back(x[i] * x[half + i]);
    return sheet.sum(terms);
  }
  double most = x[0].value();
  for (const Worked& each : x) most = computed(Operation::max, most, each.value());
  const Worked largest = sheet.line("", sheet.call("max", most, x));
  for (const Worked& each : x) terms.push_back(exp(each - largest));
  return largest + log(sheet.sum(terms));
}

}  // namespace

bool takes_two(Operation operation) {
  switch (operation) {
    case Operation::add:
    case Operation::subtract:
    case Operation::multiply:
    case Operation::divide:
    case Operation::pow:
    case Operation::min:
    case Operation::max:
    case Operation::hypot:
      return true;
    default:
      return false;
  }
}

Worked arithmetic_of(Worksheet& sheet, const double* words, const RecordView& record) {
  const auto leaf = [&](std::size_t k) { return sheet.scalar(record.sources[k], words[record.sources[k]]); };
  if (!record.is_range())
    return walk_formula<Worked>(
        record, leaf, [&](double x) { return sheet.number(x); },
        [&](Operation operation, const Worked& a, const Worked& b) { return node(sheet, operation, a, b); });
  std::vector<Worked> x;
  for (std::size_t k = 0; k < record.sources.size(); ++k) x.push_back(leaf(k));
  return over_range(sheet, static_cast<Operation>(record.header.formula()), x);
}

}  // namespace pencil::detail
