#include "autograd/ops/row_steps.hpp"

#include <vector>

#include "autograd/ops/compare.hpp"
#include "autograd/ops/formula.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/worked.hpp"

namespace pencil::detail {

using kernels::RowProgram;
using kernels::RowStep;
using kernels::RowWord;

namespace {

// Formulas that are no ops of their own.
template <class F>
Tensor called(const char* word, const Tensor& x) {
  static const Elementwise op(
      word, {&formula_table<F, float>, &formula_table<F, double>, &formula_arithmetic<F>}, 1);
  return op(x);
}

Tensor folded(RowWord word, const Tensor& x, bool keep) {
  switch (word) {
    case RowWord::sum:
      return sum(x, -1, keep);
    case RowWord::mean:
      return mean(x, -1, keep);
    case RowWord::largest:
      return max(x, -1, keep);
    default:
      return min(x, -1, keep);
  }
}

// Number by number. A yes or no is 1 or 0 in i32, and so are the three ways to join them.
Tensor applied(RowWord word, const Tensor& a, const Tensor& b, const Tensor& c) {
  switch (word) {
    case RowWord::neg:
      return neg(a);
    case RowWord::add:
      return a + b;
    case RowWord::sub:
      return a - b;
    case RowWord::mul:
      return a * b;
    case RowWord::div:
      return a / b;
    case RowWord::sqrt:
      return sqrt(a);
    case RowWord::rsqrt:
      return rsqrt(a);
    case RowWord::abs:
      return abs(a);
    case RowWord::exp:
      return exp(a);
    case RowWord::expm1:
      return called<kernels::formulas::Expm1>("expm1", a);
    case RowWord::log:
      return log(a);
    case RowWord::log1p:
      return called<kernels::formulas::Log1p>("log1p", a);
    case RowWord::tanh:
      return tanh(a);
    case RowWord::sin:
      return sin(a);
    case RowWord::cos:
      return cos(a);
    case RowWord::erf:
      return erf(a);
    case RowWord::pow:
      return pow(a, b);
    case RowWord::maximum:
      return maximum(a, b);
    case RowWord::minimum:
      return minimum(a, b);
    case RowWord::select:
      return where(a, b, c);
    case RowWord::fixed:
      return a.detach();
    case RowWord::equal:
      return equal(a, b);
    case RowWord::not_equal:
      return not_equal(a, b);
    case RowWord::less:
      return less(a, b);
    case RowWord::less_equal:
      return less_equal(a, b);
    case RowWord::both:
      return greater(a, equal(b, 0));
    case RowWord::either:
      return greater_equal(a, equal(b, 0));
    default:
      return equal(a, 0);
  }
}

}  // namespace

// A number of each row is a tensor whose last axis has size 1, so that ops repeat it along rows by
// themselves.
Tensor row_composed(const RowProgram& program, const Shape& rows, Inputs in) {
  const auto over = [](const Tensor& x, const Shape& shape) {
    return x.shape() == shape ? x : broadcast_to(x, shape);
  };
  const Shape wanted = program.gives_row() ? rows : rows.without(-1);
  std::vector<Tensor> made;
  for (const RowStep& step : program.steps()) {
    const bool last = made.size() + 1 == program.steps().size();
    const auto operand = [&](std::size_t i) {
      return step.operands[i] < 0 ? Tensor() : made[static_cast<std::size_t>(step.operands[i])];
    };
    switch (step.word) {
      case RowWord::argument:
        made.push_back(over(in[static_cast<std::size_t>(step.value)], rows));
        break;
      case RowWord::number:
        made.push_back(Operand(step.value).as_tensor(in[0].dtype()));
        break;
      case RowWord::size:
        made.push_back(Operand(rows[-1]).as_tensor(in[0].dtype()));
        break;
      case RowWord::spread:
        made.push_back(operand(0));
        break;
      case RowWord::sum:
      case RowWord::mean:
      case RowWord::largest:
      case RowWord::smallest:
        made.push_back(folded(step.word, over(operand(0), rows), !last));
        break;
      default:
        made.push_back(applied(step.word, operand(0), operand(1), operand(2)));
    }
  }
  const Tensor& y = made.back();
  const bool one_each = !program.gives_row() && y.shape() == rows.with(-1, 1);
  return one_each ? reshape(y, wanted) : over(y, wanted);
}

namespace {

// Where the number at a row-major place of shape `to` stands in a tensor of shape `from`, which broadcasts to
// it.
std::int64_t place_in(const Shape& from, const Shape& to, std::int64_t place) {
  std::int64_t found = 0, stride = 1;
  for (int axis = from.rank() - 1, wide = to.rank() - 1; axis >= 0; --axis, --wide) {
    if (from[axis] != 1) found += place % to[wide] * stride;
    place /= to[wide];
    stride *= from[axis];
  }
  return found;
}

// The program run once more, over arithmetic, for one row and as few of its columns as one number needs.
class Arithmetic {
 public:
  Arithmetic(const RowProgram& program, Worksheet& sheet, std::int64_t element)
      : program_(program),
        sheet_(sheet),
        rows_(sheet.step().input(0).shape()),
        whole_(program.steps().size()) {
    for (int i = 1; i < sheet.step().inputs(); ++i)
      rows_ = broadcast(rows_, sheet.step().input(i).shape(), sheet.step().op().word().c_str());
    width_ = rows_[-1];
    const bool row = program.gives_row();
    row_ = row ? element / width_ : element;
    column_ = row ? element % width_ : 0;
    for (std::size_t i = whole_.size(); i-- > 0;)
      for (const int operand : program.steps()[i].operands)
        if (operand >= 0 && (whole_[i] || kernels::is_fold(program.steps()[i].word)))
          whole_[static_cast<std::size_t>(operand)] = true;
  }

  Worked result() {
    for (const RowStep& step : program_.steps()) {
      numbers_.emplace_back();
      answers_.emplace_back();
      if (kernels::is_fold(step.word)) {
        numbers_.back().push_back(folded(step.word, numbers_[place(step.operands[0])]));
        continue;
      }
      const bool all = step.row && whole_[numbers_.size() - 1];
      for (std::int64_t c = all ? 0 : column_, end = all ? width_ : column_ + 1; c < end; ++c)
        compute(step, c);
    }
    return numbers_.back().front();
  }

 private:
  static std::size_t place(int i) { return static_cast<std::size_t>(i); }
  bool gives_answer(int operand) const {
    const RowStep& step = program_.step(operand);
    return kernels::is_mask(step.word == RowWord::spread ? program_.step(step.operands[0]).word : step.word);
  }
  // What an instruction came to in a column.
  template <class X>
  const X& at(const std::vector<std::vector<X>>& results, int i, std::int64_t column) const {
    const std::vector<X>& found = results[place(i)];
    return found.size() == 1 ? found.front() : found[place(static_cast<int>(column))];
  }

  void compute(const RowStep& step, std::int64_t column) {
    const auto number = [&](int i) { return at(numbers_, step.operands[place(i)], column); };
    const auto answer = [&](int i) { return at(answers_, step.operands[place(i)], column); };
    std::vector<Worked>& numbers = numbers_.back();
    switch (step.word) {
      case RowWord::argument: {
        const int i = static_cast<int>(step.value);
        return numbers.push_back(
            sheet_.input(i, place_in(sheet_.step().input(i).shape(), rows_, row_ * width_ + column)));
      }
      case RowWord::number:
        return numbers.push_back(step.value);
      case RowWord::size:
        return numbers.push_back(width_);
      case RowWord::fixed:
        return numbers.push_back(number(0));
      case RowWord::spread:
        return gives_answer(step.operands[0]) ? answers_.back().push_back(answer(0))
                                              : numbers.push_back(number(0));
      case RowWord::select:
        return numbers.push_back(select(answer(0), number(1), number(2)));
      case RowWord::equal:
        return answers_.back().push_back(number(0) == number(1));
      case RowWord::not_equal:
        return answers_.back().push_back(number(0) != number(1));
      case RowWord::less:
        return answers_.back().push_back(number(0) < number(1));
      case RowWord::less_equal:
        return answers_.back().push_back(number(0) <= number(1));
      case RowWord::both:
        return answers_.back().push_back(answer(0) && answer(1));
      case RowWord::either:
        return answers_.back().push_back(answer(0) || answer(1));
      case RowWord::opposite:
        return answers_.back().push_back(!answer(0));
      default:
        break;
    }
    if (step.operand_count() == 1)
      numbers.push_back(kernels::with_formula(step.word, [&](auto formula) -> Worked {
        if constexpr (decltype(formula)::arity == 1) return formula(number(0));
        return 0;
      }));
    else
      numbers.push_back(kernels::with_formula(step.word, [&](auto formula) -> Worked {
        if constexpr (decltype(formula)::arity == 2) return formula(number(0), number(1));
        return 0;
      }));
  }

  Worked folded(RowWord word, std::vector<Worked> x) {
    x.resize(place(static_cast<int>(width_)), x.empty() ? Worked(0) : x.front());  // of one number, repeated
    switch (word) {
      case RowWord::sum:
        return sheet_.line("total", sheet_.sum(x));
      case RowWord::mean:
        return sheet_.line("mean", mean_of(sheet_, x));
      case RowWord::largest:
        return sheet_.line("largest", largest(sheet_, x));
      default:
        return sheet_.line("smallest", smallest(sheet_, x));
    }
  }

  const RowProgram& program_;
  Worksheet& sheet_;
  Shape rows_;
  std::int64_t width_ = 0, row_ = 0, column_ = 0;
  std::vector<bool> whole_;  // needed in all columns
  std::vector<std::vector<Worked>> numbers_;
  std::vector<std::vector<Condition>> answers_;
};

}  // namespace

Worked row_arithmetic(const RowProgram& program, Worksheet& sheet, std::int64_t element) {
  return Arithmetic(program, sheet, element).result();
}

}  // namespace pencil::detail
