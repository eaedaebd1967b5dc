// The arithmetic that ops say of their numbers.

#include "autograd/arithmetic.hpp"

#include <functional>
#include <map>
#include <numeric>

#include "tests/autograd/op_table.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

double number(const Tensor& x, std::int64_t element) {
  double value = 0;
  dispatch(x.dtype(), [&]<class T>(T) {
    value = static_cast<double>(x.values<T>()[static_cast<std::size_t>(element)]);
  });
  return value;
}

// Whether two numbers are the same but for the last bits that a dtype loses beside numbers of a scale.
bool same(double a, double b, double scale = 1, DType dtype = f64) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return true;
  return std::abs(a - b) <= (dtype == f32 ? 1e-5 : 1e-11) * std::max({1.0, std::abs(b), scale});
}

// A term's value worked out again from its operands'.
double evaluated(const Worksheet& sheet, const WorkedTerm& term) {
  Numbers x;
  for (const std::int32_t operand : sheet.operands(term))
    x.push_back(sheet.terms()[static_cast<std::size_t>(operand)].value);
  switch (term.kind) {
    case WorkedKind::number:
      return term.value;
    case WorkedKind::input:
      return number(sheet.step().input(term.input), term.element);
    case WorkedKind::negative:
      return -x.at(0);
    case WorkedKind::sum:
      return std::accumulate(x.begin(), x.end(), 0.0);
    case WorkedKind::difference:
      return x.at(0) - x.at(1);
    case WorkedKind::product:
      return x.at(0) * x.at(1);
    case WorkedKind::quotient:
      return x.at(0) / x.at(1);
    case WorkedKind::choice:
      return x.at(0);
    case WorkedKind::call:
      break;
  }
  const bool any_nan = std::any_of(x.begin(), x.end(), [](double v) { return std::isnan(v); });
  const auto most = std::max_element(x.begin(), x.end());
  const std::map<std::string_view, std::function<double()>> functions{
      {"exp", [&] { return std::exp(x.at(0)); }},
      {"expm1", [&] { return std::expm1(x.at(0)); }},
      {"log", [&] { return std::log(x.at(0)); }},
      {"log1p", [&] { return std::log1p(x.at(0)); }},
      {"sqrt", [&] { return std::sqrt(x.at(0)); }},
      {"rsqrt", [&] { return 1 / std::sqrt(x.at(0)); }},
      {"sin", [&] { return std::sin(x.at(0)); }},
      {"cos", [&] { return std::cos(x.at(0)); }},
      {"tanh", [&] { return std::tanh(x.at(0)); }},
      {"erf", [&] { return std::erf(x.at(0)); }},
      {"abs", [&] { return std::abs(x.at(0)); }},
      {"pow", [&] { return std::pow(x.at(0), x.at(1)); }},
      {"max", [&] { return any_nan ? no_number : *most; }},
      {"min", [&] { return any_nan ? no_number : *std::min_element(x.begin(), x.end()); }},
      {"argmax", [&] { return static_cast<double>(most - x.begin()); }},
      {"trunc", [&] { return std::trunc(x.at(0)); }}};
  return functions.at(term.function)();
}

void check_step(const Step& step) {
  INFO(step.word() << " of " << to_string(step.shape()) << " in " << name_of(step.dtype()));
  if (!step.op().parts().explain) {
    CHECK(step.op().parts().composed);
    return;
  }
  for (std::int64_t element = 0; element < step.shape().size(); ++element) {
    INFO("element " << element);
    Worksheet sheet(step);
    const Worked y = step.op().parts().explain(sheet, element);
    double scale = 1;
    for (const WorkedTerm& term : sheet.terms()) {
      if (std::isfinite(term.value)) scale = std::max(scale, std::abs(term.value));
      CHECK(same(term.value, evaluated(sheet, term)));
    }
    CHECK(same(y.value(), number(step.output(), element), scale, step.dtype()));
  }
}

void check_tape(const Tape& tape) {
  for (int i = 0; i < tape.size(); ++i)
    if (const Step step = tape.step(i); step.kind() == StepKind::op) check_step(step);
}

}  // namespace

TEST_CASE("every op says the arithmetic of every number, and it comes to what was computed") {
  for (const DType dtype : {f64, f32})
    for (const OpRow& row : op_table())
      for (std::vector<Tensor> inputs : row.cases) {
        if (dtype == f32 && row.word == "spread_rows") continue;  // its row makes an f64 tensor of its own
        for (Tensor& x : inputs)
          if (is_float(x.dtype())) x = x.to(dtype);
        INFO(row.word);
        Tape tape;
        const Tensor y = row.f(inputs);
        check_tape(tape);
      }
}

TEST_CASE("the steps of recorded sweeps say their arithmetic, of second ones too") {
  for (const OpRow& row : op_table())
    for (const std::vector<Tensor>& inputs : row.cases) {
      if (row.mark || row.word == "softmax_gradient" || row.word == "spread_rows") continue;
      INFO(row.word);
      Tape tape;
      const Tensor y = row.f(inputs);
      std::vector<Tensor> xs;
      for (const Tensor& x : inputs)
        if (is_float(x.dtype()) && tape.step_of(x) >= 0) xs.push_back(x);
      if (xs.empty()) continue;
      const std::vector<Tensor> first =
          tape.gradient(y, xs, {.upstream = random(y.shape(), 3), .record = true});
      if (tape.step_of(first[0]) >= 0)
        (void)tape.gradient(first[0], xs, {.upstream = random(first[0].shape(), 4), .record = true});
      check_tape(tape);
    }
}

TEST_CASE("arithmetic keeps its terms, and plain numbers leave none where they change nothing") {
  Tape tape;
  const Tensor y = sigmoid(tensor({2}, f64));
  Worksheet sheet(tape.step(tape.step_of(y)));
  const Worked x = sheet.input(0, 0);
  const auto terms = [&] { return sheet.terms().size(); };
  const std::size_t before = terms();
  CHECK((x * 1).term() == x.term());
  CHECK((0 + x).term() == x.term());
  CHECK((x * 0).plain());
  CHECK(select(Worked(1) < 2, x, 5).term() == x.term());
  CHECK(terms() == before);

  const Worked chosen = select(x > 3, 1, x + 4);
  const WorkedTerm& choice = sheet.terms()[static_cast<std::size_t>(chosen.term())];
  CHECK(choice.kind == WorkedKind::choice);
  CHECK(choice.function == ">");
  CHECK_FALSE(choice.held);
  CHECK(choice.value == 6);
  CHECK(sheet.operands(choice).size() == 3);
  CHECK_THROWS_WITH(sheet.input(0, 1), "[sigmoid] input 0 of shape (1) has no number 1");
}
