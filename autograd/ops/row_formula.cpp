#include "autograd/ops/row_formula.hpp"

#include <array>
#include <vector>

#include "autograd/kernels/row_program.hpp"
#include "autograd/ops/row_steps.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using kernels::RowProgram;
using kernels::RowStep;

namespace {

// A formula and its derivatives by each argument.
struct RowPrograms {
  RowProgram formula;
  std::vector<RowProgram> derivatives;
};

Shape checked_rows(const std::string& word, const RowProgram& program, Inputs in) {
  if (in.size() != static_cast<std::size_t>(program.arguments()))
    fail("[{}] takes {} inputs, was given {}", word, program.arguments(), in.size());
  const Shape rows = detail::broadcast_floats(word.c_str(), in);
  if (rows.rank() == 0)
    fail("[{}] works on rows, the last axis; a tensor of shape {} has no axis: reshape it to (1)", word,
         rows);
  if (rows[-1] == 0 && program.needs_numbers())
    fail("[{}] asks for the largest or smallest number of a row; the rows of {} are empty", word, rows);
  return rows;
}

// The program over the rows of shape `rows`, which the arguments broadcast to.
Tensor run(const RowProgram& program, const Shape& rows, Inputs in, const Tensor& dy = Tensor()) {
  Tensor y = empty(program.gives_row() ? rows : rows.without(-1), in[0].dtype());
  std::array<std::span<const std::int64_t>, 4> sizes;
  for (std::size_t i = 0; i < in.size(); ++i) sizes[i] = in[i].shape().sizes();
  const kernels::Broadcast walk =
      kernels::plan(rows.sizes(), std::span<const std::span<const std::int64_t>>(sizes.data(), in.size()));
  dispatch_float(y.dtype(), [&]<class T>(T) {
    std::array<const T*, 4> x{};
    for (std::size_t i = 0; i < in.size(); ++i) x[i] = in[i].values<T>().data();
    const kernels::RowInputs<T> inputs{walk, x.data(), dy.defined() ? dy.values<T>().data() : nullptr};
    kernels::run(program, rows.without(-1).size(), rows[-1], inputs, y.writable<T>().data());
  });
  return y;
}

// One operation for each number that an instruction computes or adds up.
double work_of(const RowProgram& program, double rows, double width) {
  double work = 0;
  for (const RowStep& step : program.steps())
    if (kernels::is_pointwise(step.word) || kernels::is_fold(step.word))
      work += step.row || kernels::is_fold(step.word) ? rows * width : rows;
  return work;
}

Work row_work(const RowPrograms& programs, const WorkSizes& sizes) {
  Shape shape = sizes.inputs[0];
  for (const Shape& each : sizes.inputs.subspan(1)) shape = broadcast(shape, each, "row formula");
  const auto rows = static_cast<double>(shape.without(-1).size()), width = static_cast<double>(shape[-1]);
  Work work{work_of(programs.formula, rows, width)};
  for (std::size_t i = 0; i < programs.derivatives.size(); ++i)
    if (sizes.needs[i]) work.backward += work_of(programs.derivatives[i], rows, width);
  return work;
}

// y = f(x₁, …) row by row        dxᵢ = its program's derivative, summed over what was broadcast
OpParts row_parts(const std::string& word, RowProgram formula) {
  const auto programs = std::make_shared<RowPrograms>(RowPrograms{std::move(formula), {}});
  for (int i = 0; i < programs->formula.arguments(); ++i)
    programs->derivatives.push_back(kernels::derivative(programs->formula, i));
  return {
      .forward =
          [word, programs](Inputs in, const Attributes&) {
            return Computed(run(programs->formula, checked_rows(word, programs->formula, in), in));
          },
      .rule =
          [word, programs](const Step& s, const Tensor& dy, Needs needs) {
            std::vector<Tensor> in;
            for (int i = 0; i < s.inputs(); ++i) in.push_back(s.input(i));
            const Shape rows = checked_rows(word, programs->formula, in);
            Gradients gradients(in.size());
            for (std::size_t i = 0; i < in.size(); ++i)
              if (needs[i]) gradients[i] = sum_to(run(programs->derivatives[i], rows, in, dy), in[i].shape());
            return gradients;
          },
      .composed =
          [word, programs](Inputs in, const Attributes&) {
            return detail::row_composed(programs->formula, checked_rows(word, programs->formula, in), in);
          },
      .work = [programs](const WorkSizes& sizes, const Attributes&) { return row_work(*programs, sizes); },
      .explain =
          [programs](Worksheet& sheet, std::int64_t element) {
            return detail::row_arithmetic(programs->formula, sheet, element);
          }};
}

}  // namespace

RowFormula::RowFormula(std::string word, RowProgram program)
    : op_(word, row_parts(word, program)), arity_(program.arguments()) {}

Tensor RowFormula::applied(std::initializer_list<Operand> arguments) const {
  return detail::apply_formula(op_, {arguments.begin(), arguments.size()});
}

}  // namespace pencil
