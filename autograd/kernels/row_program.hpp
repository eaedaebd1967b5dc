// A function of rows as a list of instructions, each over numbers that stand side by side: what a row formula
// is traced into. It is run a block of rows at a time on the kernels of the built-in formulas, so that what
// passes between two instructions stays in the first cache. Its derivative is a program of the same kind.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <optional>
#include <vector>

#include "autograd/kernels/broadcast.hpp"
#include "autograd/kernels/formulas.hpp"

namespace pencil::kernels {

enum class RowWord : std::uint8_t {
  // where a formula begins
  argument,  // one of the rows it is given
  upstream,  // dy, in a derivative
  number,    // a number that is written in the formula
  size,      // how many numbers a row has
  // number by number
  neg,
  add,
  sub,
  mul,
  div,
  sqrt,
  rsqrt,
  abs,
  exp,
  expm1,
  log,
  log1p,
  tanh,
  sin,
  cos,
  erf,
  pow,
  maximum,
  minimum,
  select,  // the second where the first holds, else the third
  fixed,   // the same number, but no derivative reaches it
  // yes and no, as 1 and 0
  equal,
  not_equal,
  less,
  less_equal,
  both,
  either,
  opposite,  // of the first; the others are the numbers 0 and 1
  // between a row and one number
  spread,  // a number, repeated along the row
  sum,
  mean,
  largest,
  smallest
};

constexpr bool is_mask(RowWord word) { return word >= RowWord::equal && word <= RowWord::opposite; }
/// A row to a number.
constexpr bool is_fold(RowWord word) { return word >= RowWord::sum; }
/// Computed number by number, by a built-in formula.
constexpr bool is_pointwise(RowWord word) {
  return word >= RowWord::neg && word <= RowWord::opposite && word != RowWord::fixed;
}

/// Calls use(formula) with the built-in formula that an instruction computes number by number.
template <class Use>
decltype(auto) with_formula(RowWord word, Use&& use) {
  switch (word) {
    case RowWord::neg:
      return use(formulas::Neg{});
    case RowWord::add:
      return use(formulas::Add{});
    case RowWord::sub:
      return use(formulas::Sub{});
    case RowWord::mul:
    case RowWord::both:
      return use(formulas::Mul{});
    case RowWord::div:
      return use(formulas::Div{});
    case RowWord::sqrt:
      return use(formulas::Sqrt{});
    case RowWord::rsqrt:
      return use(formulas::Rsqrt{});
    case RowWord::abs:
      return use(formulas::Abs{});
    case RowWord::exp:
      return use(formulas::Exp{});
    case RowWord::expm1:
      return use(formulas::Expm1{});
    case RowWord::log:
      return use(formulas::Log{});
    case RowWord::log1p:
      return use(formulas::Log1p{});
    case RowWord::tanh:
      return use(formulas::Tanh{});
    case RowWord::sin:
      return use(formulas::Sin{});
    case RowWord::cos:
      return use(formulas::Cos{});
    case RowWord::erf:
      return use(formulas::Erf{});
    case RowWord::pow:
      return use(formulas::Pow{});
    case RowWord::maximum:
    case RowWord::either:
      return use(formulas::Maximum{});
    case RowWord::minimum:
      return use(formulas::Minimum{});
    case RowWord::equal:
      return use(formulas::Equal{});
    case RowWord::not_equal:
      return use(formulas::NotEqual{});
    case RowWord::less:
      return use(formulas::Less{});
    case RowWord::less_equal:
      return use(formulas::LessEqual{});
    default:
      assert(word == RowWord::select || word == RowWord::opposite);
      return use(formulas::Where{});
  }
}

/// One instruction.
struct RowStep {
  RowWord word = RowWord::number;
  bool row = false;  // gives a row of numbers; else one number for the whole row
  std::array<std::int32_t, 3> operands{-1, -1, -1};  // the instructions it reads
  double value = 0;                                  // of a number; the place of an argument

  /// How many it reads.
  int operand_count() const { return operands[0] < 0 ? 0 : operands[1] < 0 ? 1 : operands[2] < 0 ? 2 : 3; }
};

/// A program while it is written and when it is run. An instruction reads earlier ones only, and no two are
/// the same.
class RowProgram {
 public:
  explicit RowProgram(int arguments) : arguments_(arguments) {}

  // Each gives the place of an instruction that does this, an earlier one if there is one.
  int argument(int i) { return add({RowWord::argument, true, {-1, -1, -1}, static_cast<double>(i)}); }
  int upstream(bool row) { return add({RowWord::upstream, row}); }
  int number(double value) { return add({RowWord::number, false, {-1, -1, -1}, value}); }
  int size() { return add({RowWord::size}); }
  /// Number by number; where one operand is a row, the others are spread.
  int apply(RowWord word, int a, int b = -1, int c = -1);
  /// A number repeated along the row; a row as it is.
  int spread(int a);
  /// Of a row: sum, mean, largest or smallest; of a number as if it were spread.
  int fold(RowWord word, int a) { return add({word, false, {spread(a), -1, -1}}); }

  /// What it comes to. Instructions that it does not need are dropped.
  void finish(int result);

  int arguments() const { return arguments_; }
  const std::vector<RowStep>& steps() const { return steps_; }
  const RowStep& step(int place) const { return steps_[static_cast<std::size_t>(place)]; }
  /// The number that an instruction is, where it is one that the formula says.
  std::optional<double> constant(int place) const;
  /// The last instruction of a finished program is its result.
  int result() const { return static_cast<int>(steps_.size()) - 1; }
  bool gives_row() const { return steps_.back().row; }
  /// Whether it asks for the largest or smallest number of a row.
  bool needs_numbers() const;

 private:
  int add(const RowStep& step);

  int arguments_;
  std::vector<RowStep> steps_;
};

/// dy · ∂f/∂(argument), or its sum over the row where f gives one number: reverse mode, one instruction after
/// the other, so that it takes a few times the instructions of f, however long the row is.
RowProgram derivative(const RowProgram& f, int argument);

/// What the rows of one run are.
template <class T>
struct RowInputs {
  const Broadcast& walk;  // of the arguments, over (rows, width)
  const T* const* x;      // the arguments
  const T* dy = nullptr;  // (rows, width), or (rows) where the program was a derivative of one number a row
};

/// out = the program for each of `rows` rows of `width` numbers: (rows, width), or (rows). A row has the same
/// bits wherever it stands and for any number of threads. width ≥ 1 for a program that needs numbers.
template <class T>
void run(const RowProgram& program, std::int64_t rows, std::int64_t width, const RowInputs<T>& inputs,
         T* out);

}  // namespace pencil::kernels
