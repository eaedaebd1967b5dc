#include "autograd/kernels/row_program.hpp"

#include <algorithm>
#include <bit>
#include <numbers>

namespace pencil::kernels {

int RowProgram::add(const RowStep& step) {
  const auto same = [&](const RowStep& other) {
    return other.word == step.word && other.row == step.row && other.operands == step.operands &&
           std::bit_cast<std::uint64_t>(other.value) == std::bit_cast<std::uint64_t>(step.value);
  };
  const auto known = std::find_if(steps_.begin(), steps_.end(), same);
  if (known != steps_.end()) return static_cast<int>(known - steps_.begin());
  steps_.push_back(step);
  return static_cast<int>(steps_.size()) - 1;
}

int RowProgram::apply(RowWord word, int a, int b, int c) {
  RowStep made{word, false, {a, b, c}};
  for (const int operand : made.operands)
    if (operand >= 0) made.row = made.row || step(operand).row;
  if (made.row)
    for (int& operand : made.operands)
      if (operand >= 0) operand = spread(operand);
  return add(made);
}

int RowProgram::spread(int a) { return step(a).row ? a : add({RowWord::spread, true, {a, -1, -1}}); }

void RowProgram::finish(int result) {
  std::vector<std::int32_t> place(steps_.size(), -1);
  place[static_cast<std::size_t>(result)] = 0;
  for (int i = result; i >= 0; --i)
    if (place[static_cast<std::size_t>(i)] >= 0)
      for (const int operand : step(i).operands)
        if (operand >= 0) place[static_cast<std::size_t>(operand)] = 0;
  std::vector<RowStep> kept;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    if (place[i] < 0) continue;
    place[i] = static_cast<std::int32_t>(kept.size());
    kept.push_back(steps_[i]);
    for (std::int32_t& operand : kept.back().operands)
      if (operand >= 0) operand = place[static_cast<std::size_t>(operand)];
  }
  steps_ = std::move(kept);
}

bool RowProgram::needs_numbers() const {
  return std::any_of(steps_.begin(), steps_.end(), [](const RowStep& step) {
    return step.word == RowWord::largest || step.word == RowWord::smallest;
  });
}

std::optional<double> RowProgram::constant(int place) const {
  const RowStep& found = step(place);
  if (found.word == RowWord::spread) return constant(found.operands[0]);
  if (found.word == RowWord::number) return found.value;
  return std::nullopt;
}

namespace {

/// A place of a program with the arithmetic of numbers, so that rules read as they are written on paper.
struct Term {
  RowProgram* program;
  int place;

  Term of(double value) const { return {program, program->number(value)}; }
  friend Term apply(RowWord word, Term a) { return {a.program, a.program->apply(word, a.place)}; }
  friend Term apply(RowWord word, Term a, Term b) {
    return {a.program, a.program->apply(word, a.place, b.place)};
  }
  friend Term operator-(Term a) { return apply(RowWord::neg, a); }
  friend Term operator+(Term a, Term b) { return apply(RowWord::add, a, b); }
  friend Term operator-(Term a, Term b) { return apply(RowWord::sub, a, b); }
  friend Term operator*(Term a, Term b) { return apply(RowWord::mul, a, b); }
  friend Term operator/(Term a, Term b) { return apply(RowWord::div, a, b); }
  friend Term operator-(double a, Term b) { return b.of(a) - b; }
  friend Term operator+(double a, Term b) { return b.of(a) + b; }
  friend Term operator*(double a, Term b) { return b.of(a) * b; }
  friend Term operator/(double a, Term b) { return b.of(a) / b; }
  friend Term operator<(Term a, Term b) { return apply(RowWord::less, a, b); }
  friend Term operator==(Term a, Term b) { return apply(RowWord::equal, a, b); }
  friend Term select(Term mask, Term a, Term b) {
    return {a.program, a.program->apply(RowWord::select, mask.place, a.place, b.place)};
  }
  Term spread() const { return {program, program->spread(place)}; }
  Term sum() const { return {program, program->fold(RowWord::sum, place)}; }
};

/// Adjoints of the instructions of a program, gathered from the last to the first. Where a choice may have
/// cut a gradient to 0, it stays 0 whatever it is multiplied by or divided by: nothing of a branch not taken
/// comes through.
class Reverse {
 public:
  Reverse(const RowProgram& f, int argument)
      : program_(f), steps_(f.steps()), adjoint_(steps_.size(), -1), cut_(steps_.size()) {
    for (const RowStep& step : steps_) {
      bool depends = step.word == RowWord::argument && static_cast<int>(step.value) == argument;
      if (step.word != RowWord::fixed && !is_mask(step.word))
        for (const int operand : step.operands)
          depends = depends || (operand >= 0 && depends_[static_cast<std::size_t>(operand)]);
      depends_.push_back(depends);
    }
  }

  RowProgram program() {
    adjoint_.back() = program_.upstream(steps_.back().row);
    int found = -1;
    for (now_ = steps_.size(); now_-- > 0;) {
      if (!depends_[now_] || adjoint_[now_] < 0) continue;
      if (steps_[now_].word == RowWord::argument)
        found = adjoint_[now_];
      else
        pass_on(steps_[now_], term(static_cast<int>(now_)), term(adjoint_[now_]));
    }
    program_.finish(program_.spread(found < 0 ? program_.number(0) : found));
    return std::move(program_);
  }

 private:
  Term term(int place) { return {&program_, place}; }

  void give(std::size_t operand, Term gradient, bool cuts = false) {
    const auto to = static_cast<std::size_t>(steps_[now_].operands[operand]);
    if (!depends_[to]) return;
    adjoint_[to] = adjoint_[to] < 0 ? gradient.place : (term(adjoint_[to]) + gradient).place;
    cut_[to] = cut_[to] || cut_[now_] || cuts;
  }

  Term kept(Term g, Term gradient) const {
    return cut_[now_] ? select(g == g.of(0), g.of(0), gradient) : gradient;
  }
  Term times(Term g, Term slope) const { return kept(g, g * slope); }
  Term over(Term g, Term divisor) const { return kept(g, g / divisor); }

  // y = f(a, b, …) has the gradient g. At kinks as everywhere (kernels/dual.hpp): abs′(0) = 0, ties share.
  void pass_on(const RowStep& step, Term y, Term g) {
    const Term a = term(step.operands[0]), b = term(step.operands[step.operands[1] < 0 ? 0 : 1]),
               zero = g.of(0);
    switch (step.word) {
      case RowWord::neg:
        return give(0, -g);
      case RowWord::add:
        give(0, g);
        return give(1, g);
      case RowWord::sub:
        give(0, g);
        return give(1, -g);
      case RowWord::mul:
        give(0, times(g, b));
        return give(1, times(g, a));
      case RowWord::div:
        give(0, over(g, b));
        return give(1, over(-times(g, y), b));
      case RowWord::sqrt:
        return give(0, times(g, 0.5 / y));
      case RowWord::rsqrt:
        return give(0, times(g, -0.5 * (y * y * y)));
      case RowWord::abs:
        return give(0, select(a == zero, zero, select(a < zero, -g, g)), true);
      case RowWord::exp:
        return give(0, times(g, y));
      case RowWord::expm1:
        return give(0, times(g, apply(RowWord::exp, a)));
      case RowWord::log:
        return give(0, over(g, a));
      case RowWord::log1p:
        return give(0, over(g, 1 + a));
      case RowWord::tanh:
        return give(0, times(g, 1 - y * y));
      case RowWord::sin:
        return give(0, times(g, apply(RowWord::cos, a)));
      case RowWord::cos:
        return give(0, times(g, -apply(RowWord::sin, a)));
      case RowWord::erf:
        return give(0, times(g, 2 * std::numbers::inv_sqrtpi * apply(RowWord::exp, -(a * a))));
      case RowWord::pow:
        give(0, times(g, slope_in_base(a, b)));
        return give(1, times(g, slope_in_exponent(a, b, y)));
      case RowWord::maximum:
        give(0, select(b < a, g, select(a < b, zero, 0.5 * g)), true);
        return give(1, select(a < b, g, select(b < a, zero, 0.5 * g)), true);
      case RowWord::minimum:
        give(0, select(a < b, g, select(b < a, zero, 0.5 * g)), true);
        return give(1, select(b < a, g, select(a < b, zero, 0.5 * g)), true);
      case RowWord::select:
        give(1, select(a, g, zero), true);
        return give(2, select(a, zero, g), true);
      case RowWord::spread:
        return give(0, g.sum());
      case RowWord::sum:
        return give(0, g.spread());
      case RowWord::mean:
        return give(0, (g / Term{&program_, program_.size()}).spread());
      case RowWord::largest:
      case RowWord::smallest: {
        const Term best = a == y.spread();
        const Term ties = select(best, g.of(1), zero).sum();
        return give(0, select(best, (g / ties).spread(), zero), true);
      }
      default:
        assert(false);
    }
  }

  // b a^(b − 1), and 0 where b is 0.
  Term slope_in_base(Term a, Term b) const {
    const std::optional<double> exponent = program_.constant(b.place);
    if (!exponent) return select(b == b.of(0), b.of(0), b * apply(RowWord::pow, a, b - b.of(1)));
    if (*exponent == 0) return a.of(0);
    if (*exponent == 2) return 2 * a;
    return b * apply(RowWord::pow, a, a.of(*exponent - 1));
  }
  // aᵇ ln a, and 0 where a is 0 ≤ b.
  Term slope_in_exponent(Term a, Term b, Term y) const {
    const Term zero = a.of(0), at_zero = apply(RowWord::both, a == zero, apply(RowWord::less_equal, zero, b));
    return select(at_zero, zero, y * apply(RowWord::log, a));
  }

  RowProgram program_;
  std::vector<RowStep> steps_;  // of f alone
  std::vector<bool> depends_;   // on the argument
  std::vector<int> adjoint_;    // an instruction each, or −1 where no gradient has come yet
  std::vector<bool> cut_;       // whether a choice stands between it and the result
  std::size_t now_ = 0;
};

}  // namespace

RowProgram derivative(const RowProgram& f, int argument) { return Reverse(f, argument).program(); }

}  // namespace pencil::kernels
