#include "autograd/inspect/flow.hpp"

#include <limits>

#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// A parameter whose gradient is the one given.
struct Given {
  Tensor parameter;
  explicit Given(const Tensor& gradient, const std::string& name)
      : parameter(pencil::parameter(ones(gradient.shape(), gradient.dtype()), name)), gradient_(gradient) {}
  Tensor loss() const { return sum(parameter * gradient_); }

 private:
  Tensor gradient_;
};

const double inf = std::numeric_limits<double>::infinity();

// Modules in good and in bad health.
struct Model {
  Given query{tensor({{3, 0}, {0, 4}}, f64), "attend.query.weight"};
  Given bias{tensor({0, 0}, f64), "attend.query.bias"};
  Given early{tensor({1e-9, -2e-9}, f64), "memory.weight"};
  Given late{tensor({5e3}, f64), "head.weight"};
  Given wild{tensor({1, std::nan("")}, f64), "head.bias"};
  Tensor asleep = parameter(ones({3}, f64), "head.scale");
  std::optional<Tape> tape;

  explicit Model(TapeOptions options = {}) {
    tape.emplace(options);
    Tensor total = bias.loss();  // one op a statement: compilers differ in the order of operands
    total = query.loss() + total;
    total = total + early.loss();
    total = total + late.loss();
    total = total + wild.loss();
    (void)(asleep * 2);
    tape->backward(total);
  }
};

std::vector<ParameterUpdate> report_of(const Model& model) {
  return {{"attend.query.weight", model.query.parameter, 5, 0.01, 2},
          {"attend.query.bias", model.bias.parameter, 0, 0, 1},
          {"memory.weight", model.early.parameter, 2.236e-9, 2e-9, 1},
          {"head.weight", model.late.parameter, 5e3, 5e3, 1}};
}

const FlowRow& row(const std::vector<FlowRow>& rows, std::string_view name) {
  const auto found = std::ranges::find(rows, name, &FlowRow::name);
  REQUIRE(found != rows.end());
  return *found;
}

}  // namespace

TEST_CASE("how blame flows reads as it should") {
  Model model;
  CHECK(to_string(flow(*model.tape, report_of(model))) == golden_text("flow.txt"));
}

TEST_CASE("norms, zeros and largest numbers of a gradient are read off the tape") {
  Model model;
  const Flow found = flow(*model.tape);
  const FlowRow& query = row(found.parameters, "attend.query.weight");
  CHECK(query.numbers == 4);
  CHECK(query.norm == 5);
  CHECK(query.zeros == 0.5);
  CHECK(query.largest == 4);
  CHECK_FALSE(query.ratio);
  CHECK(query.gradient == FlowMark::fine);
  CHECK(row(found.parameters, "attend.query.bias").gradient == FlowMark::vanishing);
  CHECK(row(found.parameters, "attend.query.bias").zeros == 1);
  CHECK(row(found.parameters, "memory.weight").gradient == FlowMark::vanishing);
  CHECK(row(found.parameters, "head.weight").gradient == FlowMark::exploding);
  CHECK(row(found.parameters, "head.bias").gradient == FlowMark::not_finite);
  CHECK(row(found.parameters, "head.scale").gradient == FlowMark::none_came);
  CHECK_FALSE(row(found.parameters, "head.scale").norm);
  const FlowRow& attend = row(found.modules, "attend.query");
  CHECK(attend.numbers == 6);
  CHECK(attend.norm == 5);
  CHECK(attend.zeros == Approx(4. / 6));
  CHECK(row(flow(*model.tape, {}, {.depth = 1}).modules, "attend").norm == 5);
}

TEST_CASE("the limits can be set, and must be in order") {
  Model model;
  const Flow strict = flow(*model.tape, {}, {.vanishing = 10, .exploding = 1e4});
  CHECK(row(strict.parameters, "attend.query.weight").gradient == FlowMark::vanishing);
  CHECK(row(strict.parameters, "head.weight").gradient == FlowMark::fine);
  CHECK_THROWS_WITH(flow(*model.tape, {}, {.vanishing = 2, .exploding = 1}),
                    Says("[flow] vanishing is below 2 and exploding above 1"));
  const Tape fresh;
  CHECK_THROWS_WITH(flow(fresh), Says("[flow] backward has not run"));
}

TEST_CASE("a report brings the ratio of update to weights") {
  Model model;
  const Flow found = flow(*model.tape, report_of(model));
  CHECK(row(found.parameters, "attend.query.weight").ratio == 0.005);
  CHECK(row(found.parameters, "attend.query.weight").update == FlowMark::fine);
  CHECK(row(found.parameters, "memory.weight").update == FlowMark::vanishing);
  CHECK(row(found.parameters, "head.weight").update == FlowMark::exploding);
  CHECK(row(found.modules, "attend.query").ratio == Approx(0.01 / std::sqrt(5)));
  CHECK_THAT(to_string(found), Says("vanishing, update vanishing"));
}

TEST_CASE("where the tape freed its gradients, those collected count, and then the report's norms") {
  Model model({.keep = Keep::leaves});
  CHECK(row(flow(*model.tape).parameters, "attend.query.weight").zeros == 0.5);
  model.query.parameter.clear_grad();  // as an optimizer does
  model.bias.parameter.clear_grad();
  const Flow found = flow(*model.tape, report_of(model));
  CHECK(row(found.parameters, "attend.query.weight").norm == 5);
  CHECK_FALSE(row(found.parameters, "attend.query.weight").zeros);
  CHECK(row(found.modules, "attend.query").norm == 5);
  CHECK_FALSE(row(found.modules, "attend.query").largest);
  CHECK(row(flow(*model.tape).parameters, "attend.query.weight").gradient == FlowMark::none_came);
}

TEST_CASE("a parameter of the report that the tape never read has a row of its own") {
  Model model;
  const Tensor other = parameter(ones({7}, f64), "tail.weight");
  const Flow found = flow(*model.tape, std::vector<ParameterUpdate>{{"tail.weight", other, 3, 0, 0}});
  CHECK(found.parameters.size() == 7);
  CHECK(found.parameters.back().name == "tail.weight");
  CHECK(found.parameters.back().norm == 3);
  CHECK_FALSE(found.parameters.back().ratio);
}

TEST_CASE("norms of what cannot be squared are still right") {
  const Given huge(tensor({3e200, 4e200}, f64), "huge"), tiny(tensor({3e-200, 4e-200}, f64), "tiny");
  const Given endless(tensor({1, inf}, f64), "endless");
  Tape tape;
  tape.backward(huge.loss() + tiny.loss() + endless.loss());
  const Flow found = flow(tape);
  CHECK(*row(found.parameters, "huge").norm == Approx(5e200));
  CHECK(*row(found.parameters, "tiny").norm == Approx(5e-200));
  CHECK(row(found.parameters, "endless").norm == inf);
  CHECK(row(found.parameters, "endless").gradient == FlowMark::not_finite);
}

TEST_CASE("looking at the flow changes nothing") {
  Model model;
  const std::string before = dump(*model.tape);
  (void)to_string(flow(*model.tape, report_of(model)));
  CHECK(dump(*model.tape) == before);
  CHECK(model.query.parameter.has_grad());
}
