// Every op of the table: what `explain` prints is evaluated and comes to what it prints.

#include <stdexcept>

#include "tests/autograd/op_table.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/calculator.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

double number_at(const Tensor& x, std::int64_t element) {
  double value = 0;
  dispatch(x.dtype(), [&]<class T>(T) {
    value = static_cast<double>(x.values<T>()[static_cast<std::size_t>(element)]);
  });
  return value;
}

// Evaluates every line; the last comes to the tape's own number, or numbers where it is a row.
void check_block(const Explanation::Block& block, const Tensor& y, std::size_t numbers,
                 const Precision& precision) {
  REQUIRE(!block.lines.empty());
  for (const Explanation::Line& line : block.lines) {
    INFO(block.title << ": " << line.word << " " << line.arithmetic);
    if (line.arithmetic.starts_with("argmax") && line.arithmetic.find("…") != std::string::npos) continue;
    Checked checked;
    REQUIRE_NOTHROW(checked = evaluated(line.arithmetic, precision));
    CHECK(agrees(checked, precision));
    if (&line != &block.lines.back()) continue;
    const std::vector<Range>& own = checked.tape.empty() ? checked.printed : checked.tape;
    const std::size_t last =
        (block.elements.size() > numbers + 1 ? numbers : block.elements.size()) - own.size();
    for (std::size_t i = 0; i < own.size(); ++i) {
      const double recorded = number_at(y, block.elements[last + i]);
      const double slack = 1e-6 * std::abs(recorded) + 1e-12;
      CHECK((own[i].holds(recorded) || std::abs(own[i].low - recorded) <= slack ||
             (std::isnan(recorded) && std::isnan(own[i].low))));
    }
  }
}

bool arithmetic_of(const Step& step) {
  return step.kind() == StepKind::op && (step.op().parts().explain || step.op().parts().composed);
}

int check_tape(const Tape& tape, const ExplainOptions& options, const Precision& precision) {
  int blocks = 0;
  for (int number = 0; number < tape.size(); ++number) {
    const Step step = tape.step(number);
    if (!arithmetic_of(step)) continue;
    const Shape& shape = step.shape();
    for (std::int64_t element = 0; element < shape.size(); element += 1 + shape.size() / 5) {
      const Explanation one = explained(tape, number, index_of(shape, element), options);
      REQUIRE(one.blocks.size() == 1);
      check_block(one.blocks[0], step.output(), options.numbers, precision);
      ++blocks;
    }
    if (shape.rank() == 0) continue;
    std::vector<std::int64_t> row(static_cast<std::size_t>(shape.rank() - 1), 0);
    if (shape.size() == 0) continue;
    const Explanation whole = explained(tape, number, row, options);
    check_block(whole.blocks[0], step.output(), options.numbers, precision);
  }
  return blocks;
}

std::vector<Tensor> as(DType dtype, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> out;
  for (const Tensor& x : inputs) out.push_back(is_float(x.dtype()) ? x.to(dtype) : x);
  return out;
}

template <class F>
void for_each_case(F&& test) {
  for (const OpRow& row : op_table())
    for (const std::vector<Tensor>& inputs : row.cases) {
      INFO(row.word);
      test(row, inputs);
    }
}

}  // namespace

TEST_CASE("the arithmetic that is printed comes to the number that is printed") {
  for_each_case([](const OpRow& row, const std::vector<Tensor>& inputs) {
    Tape tape;
    const Tensor y = row.f(inputs);
    CHECK(check_tape(tape, {}, {}) >= (y.size() > 0));
  });
}

TEST_CASE("and so it does with other digits, with few terms and in f32") {
  for_each_case([](const OpRow& row, const std::vector<Tensor>& inputs) {
    const bool sweep = row.word == "softmax_gradient" || row.word == "spread_rows";
    {
      Tape tape;
      const Tensor y = row.f(inputs);
      check_tape(tape, {.terms = 2, .numbers = 2, .digits = 9}, {.digits = 9});
    }
    if (sweep || row.word == "cast") return;
    Tape tape;
    const Tensor y = row.f(as(f32, inputs));
    check_tape(tape, {}, {.relative = 6e-8});
  });
}

TEST_CASE("rounded as with a pencil, each line comes to what it says") {
  for_each_case([](const OpRow& row, const std::vector<Tensor>& inputs) {
    Tape tape;
    const Tensor y = row.f(inputs);
    for (int number = 0; number < tape.size(); ++number) {
      const Step step = tape.step(number);
      if (!arithmetic_of(step) || step.shape().size() == 0) continue;
      const std::vector<std::int64_t> index = index_of(step.shape(), step.shape().size() / 2);
      const Explanation whole = explained(tape, number, index, {.pencil = true});
      for (const Explanation::Line& line : whole.blocks[0].lines) {
        INFO(line.word << " " << line.arithmetic);
        const Precision precision{.digits = 4, .absolute = 0.0005, .blown = 0.0005};
        CHECK(agrees(evaluated(line.arithmetic, precision), precision));
      }
    }
  });
}

TEST_CASE("gradients are explained as everything else") {
  for_each_case([](const OpRow& row, const std::vector<Tensor>& inputs) {
    if (row.mark || row.word == "softmax_gradient" || row.word == "spread_rows") return;
    Tape tape;
    const Tensor y = row.f(inputs);
    std::vector<Tensor> xs;
    for (const Tensor& x : inputs)
      if (is_float(x.dtype()) && tape.step_of(x) >= 0) xs.push_back(x);
    if (xs.empty()) return;
    (void)tape.gradient(y, xs, {.upstream = ones(y.shape(), y.dtype()), .record = true});
    check_tape(tape, {}, {});
  });
}

TEST_CASE("the calculator finds wrong arithmetic") {
  const Precision precision;
  const auto right = [&](const std::string& line) { return agrees(evaluated(line, precision), precision); };
  CHECK(right("2*3 + 0*0 + 1*2 - 4 / 2 = 6"));
  CHECK_FALSE(right("2*3 + 0*0 + 1*2 - 4 / 2 = 6.0001"));
  CHECK(right("e^4 = 54.5982"));
  CHECK_FALSE(right("e^4 = 54.5984"));
  CHECK(right("-2^2*[1, -2, … 30 more] + 1 = [-3, 9, … 30 more]"));
  CHECK_FALSE(right("-2^2*[1, -2] = [-4, 4]"));
  CHECK(right("max(1, 2, … 3 more, the max of them 7) / (1 + 2) = 2.33333"));
  CHECK(right("1 + 2 + … 90 more terms that sum to -1.5 = 1.5"));
  CHECK_FALSE(right("1 + 2 + … 90 more terms that sum to 1.5 = 1.5"));
  CHECK(right("0, for -3 <= 0 and 2*2 > 3"));
  CHECK_THROWS_AS(right("0, for 3 <= 0"), std::runtime_error);
  CHECK_THROWS_AS(right("2 + = 2"), std::runtime_error);
  CHECK(right("log(0) = -inf"));
  CHECK(right("0*inf = nan"));
  CHECK_FALSE(right("0*inf = 0"));
}
