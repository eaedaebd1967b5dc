#pragma once

// What a scalar statement computes: for any number type, and term by term on a worksheet.

#include <cmath>
#include <vector>

#include "autograd/arithmetic.hpp"
#include "autograd/scalar_body.hpp"

namespace pencil::detail {

/// Whether it takes two operands: + − * /, pow, min, max and hypot.
bool takes_two(Operation operation);

/// One node of a formula; `b` counts for nothing where it takes one operand.
template <class T>
T computed(Operation operation, T a, T b) {
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
    case Operation::exp:
      return std::exp(a);
    case Operation::expm1:
      return std::expm1(a);
    case Operation::log:
      return std::log(a);
    case Operation::log1p:
      return std::log1p(a);
    case Operation::sqrt:
      return std::sqrt(a);
    case Operation::sin:
      return std::sin(a);
    case Operation::cos:
      return std::cos(a);
    case Operation::tan:
      return std::tan(a);
    case Operation::asin:
      return std::asin(a);
    case Operation::acos:
      return std::acos(a);
    case Operation::atan:
      return std::atan(a);
    case Operation::sinh:
      return std::sinh(a);
    case Operation::cosh:
      return std::cosh(a);
    case Operation::tanh:
      return std::tanh(a);
    case Operation::erf:
      return std::erf(a);
    case Operation::abs:
      return std::abs(a);
    case Operation::pow:
      return std::pow(a, b);
    case Operation::min:
      return std::isnan(a) || a < b ? a : b;
    case Operation::max:
      return std::isnan(a) || a > b ? a : b;
    case Operation::hypot:
      return std::hypot(a, b);
    default:
      return a;  // leaves and statements over a range are no nodes with operands
  }
}

/// Goes through a formula, operands first: `leaf(k)` makes what stands for operand k, `number(x)` for a plain
/// number, `node(operation, a, b)` for what is done with them. Returns what stands for the whole.
template <class T, class Leaf, class Number, class Node>
T walk_formula(const RecordView& record, const Leaf& leaf, const Number& number, const Node& node) {
  std::vector<T> open;
  std::size_t leaves = 0, numbers = 0;
  for (const Operation operation : formula_code(record.header.formula())) {
    if (operation == Operation::leaf) {
      open.push_back(leaf(leaves++));
    } else if (operation == Operation::number) {
      open.push_back(number(record.numbers[numbers++]));
    } else if (takes_two(operation)) {
      const T b = std::move(open.back());
      open.pop_back();
      open.back() = node(operation, open.back(), b);
    } else {
      open.back() = node(operation, open.back(), open.back());
    }
  }
  return std::move(open.back());
}

/// A statement's arithmetic on a sheet of its step; the Scalars in it are terms of `Worksheet::scalar`.
Worked arithmetic_of(Worksheet& sheet, const double* words, const RecordView& record);

}  // namespace pencil::detail
