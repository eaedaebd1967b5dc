// The arithmetic that ops say of their numbers.

#include "autograd/arithmetic.hpp"

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

// Whether two numbers are the same but for the last bits that double precision loses.
bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-11 * std::max(1.0, std::abs(b));
}

void check_step(const Step& step) {
  INFO(step.word());
  for (std::int64_t element = 0; element < step.shape().size(); ++element) {
    INFO("element " << element);
    Worksheet sheet(step);
    const Worked y = step.op().parts().explain(sheet, element);
    CHECK(same(y.value(), number(step.output(), element)));
    for (const WorkedTerm& term : sheet.terms())
      if (term.kind == WorkedKind::input) CHECK(term.value == number(step.input(term.input), term.element));
  }
}

}  // namespace

TEST_CASE("the arithmetic an op says comes to the number it computed") {
  for (const OpRow& row : op_table())
    for (const std::vector<Tensor>& inputs : row.cases) {
      INFO(row.word);
      Tape tape;
      const Tensor y = row.f(inputs);
      for (int i = 0; i < tape.size(); ++i)
        if (const Step step = tape.step(i); step.kind() == StepKind::op && step.op().parts().explain)
          check_step(step);
    }
}

TEST_CASE("derivatives of formulas say their arithmetic, second ones too") {
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
      for (int i = 0; i < tape.size(); ++i)
        if (const Step step = tape.step(i); step.kind() == StepKind::op && step.op().parts().explain)
          check_step(step);
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
