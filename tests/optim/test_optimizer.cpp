#include <cmath>
#include <limits>
#include <optional>

#include "autograd/kernels/threads.hpp"
#include "optim/adam.hpp"
#include "optim/sgd.hpp"
#include "tests/catch.hpp"
#include "tests/optim/support.hpp"

using namespace pencil;
using namespace pencil::tests;
using optim::Adam;
using optim::SGD;
using Names = std::vector<std::string>;
using Numbers = std::vector<double>;

TEST_CASE("a step uses gradients up, raises versions and notes its line") {
  const Tensor w = parameter_of({1, 2});
  SGD sgd({w}, {.learning_rate = 0.5});
  give(w, {2, -2});
  const optim::StepReport report = sgd.step();
  CHECK(w.to_vector() == Numbers{0, 3});
  CHECK_FALSE(w.has_grad());
  CHECK(w.version() == 1);
  CHECK(to_string(w.written()).starts_with("test_optimizer.cpp:"));
  CHECK(report.step == 1);
  CHECK(sgd.steps() == 1);
}

TEST_CASE("whoever shares a parameter's numbers keeps the old ones") {
  const Tensor w = parameter_of({1, 2});
  const Tensor row = with_shape(w, {1, 2});
  SGD sgd({w}, {.learning_rate = 0.5});
  give(w, {2, -2});
  sgd.step();
  CHECK(row.to_vector() == Numbers{1, 2});
  CHECK(w.to_vector() == Numbers{0, 3});
}

TEST_CASE("a parameter without a gradient is skipped and listed") {
  const Tensor a = parameter_of({1}, "a"), b = parameter_of({1}, "b"), c = parameter_of({1}, "c"),
               nameless = parameter_of({1}, "");
  Adam adam({a, b, c, nameless});
  give(a, {1});
  give(c, {1});
  c.set_frozen(true);
  const optim::StepReport report = adam.step();
  CHECK(report.skipped == Names{"b", "c", "parameter 3"});
  CHECK(b.item() == 1);
  CHECK(b.version() == 0);
  CHECK(c.item() == 1);
  CHECK(c.has_grad());
  REQUIRE(report.parameters.size() == 1);
  CHECK(report.parameters[0].name == "a");

  // Bias corrections count a parameter's own updates: the first one of b is as that of a.
  for (int i = 0; i < 100; ++i) adam.step();
  give(b, {1});
  adam.step();
  CHECK(b.item() == a.item());
  CHECK(adam.steps() == 102);
}

TEST_CASE("a gradient that is not finite refuses the whole step and changes nothing") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, inf, -inf})
    for (const DType dtype : {f32, f64}) {
      const Tensor a = parameter_of({1, 2}, "a", dtype);
      const Tensor b = parameter(with_shape(vector_of({1, 2, 3, 4, 5, 6}, dtype), {2, 3}), "b");
      Adam adam({a, b});
      give(a, {1, 1});
      give(b, {1, 1, 1, 1, 1, 1});
      adam.step();
      const Numbers a_before = a.to_vector(), b_before = b.to_vector();
      const auto before = adam.state();

      give(a, {0.5, 0.5});
      give(b, {1, 1, 1, 1, 1, bad});
      const std::string value = std::isnan(bad) ? "nan" : bad > 0 ? "inf" : "-inf";
      REQUIRE_THROWS_WITH(adam.step(), Says("[adam] the gradient of 'b' is " + value +
                                            " at position [1, 2]; nothing was changed"));
      CHECK(a.to_vector() == a_before);
      CHECK(b.to_vector() == b_before);
      CHECK(a.version() == 1);
      CHECK(a.grad().to_vector() == Numbers{0.5, 0.5});
      CHECK(b.has_grad());
      CHECK(adam.steps() == 1);
      const auto after = adam.state();
      REQUIRE(after.size() == before.size());
      for (std::size_t i = 0; i < after.size(); ++i)
        CHECK(after[i].second.to_vector() == before[i].second.to_vector());

      // With the gradient mended the step is as if nothing had happened.
      give(b, {1, 1, 1, 1, 1, 1});
      CHECK(adam.step().step == 2);
    }
}

TEST_CASE("large and small gradients that are finite are no error, and their norms are right") {
  const Tensor w = parameter_of({0, 0});
  SGD sgd({w}, {.learning_rate = 0});
  const auto norm = [&](double x, double y) {
    give(w, {x, y});
    return sgd.step().gradient_norm;
  };
  CHECK(norm(3e200, 4e200) == Approx(5e200));
  CHECK(norm(3e-200, 4e-200) == Approx(5e-200));
  CHECK(norm(3e-320, 4e-320) == Approx(5e-320).epsilon(1e-2));
  CHECK(norm(0, 0) == 0);
  CHECK(norm(-3, 4) == 5);
  const Tensor single = parameter_of({0, 0}, "w", f32);
  SGD other({single});
  give(single, {3e38, 0});
  CHECK(other.step().gradient_norm == Approx(3e38));
}

TEST_CASE("the report holds the norms of gradients, updates and weights") {
  const Tensor a = parameter_of({3, 0}, "a"), b = parameter_of({1, 1, 1, 1}, "b");
  SGD sgd({a, b}, {.learning_rate = 0.5}, {.norms = true});
  give(a, {6, 8});
  give(b, {0, 0, 0, 0});
  const optim::StepReport report = sgd.step();
  REQUIRE(report.parameters.size() == 2);
  CHECK(report.parameters[0].gradient_norm == 10);
  CHECK(report.parameters[0].update_norm == 5);
  CHECK(report.parameters[0].weight_norm == 4);  // (0, −4)
  CHECK(report.parameters[1].gradient_norm == 0);
  CHECK(report.parameters[1].update_norm == 0);
  CHECK(report.parameters[1].weight_norm == 2);
  CHECK(report.gradient_norm == 10);
  CHECK(report.scale == 1);
  CHECK(report.factor == 1);
}

TEST_CASE("flow takes what a step returned, although the step has used the gradients up") {
  const Tensor a = parameter_of({3, 0}, "head.weight");
  SGD sgd({a}, {.learning_rate = 0.5}, {.norms = true});
  Tape tape{{.keep = Keep::leaves}};
  tape.backward(sum(a * tensor({6, 8}, f64)));
  const Flow found = flow(tape, sgd.step());
  REQUIRE(found.parameters.size() == 1);
  CHECK(found.parameters[0].name == "head.weight");
  CHECK(found.parameters[0].norm == 10);
  CHECK(found.parameters[0].ratio == 5. / 4);
}

TEST_CASE("parameters with a gradient that no optimizer holds are listed") {
  const Tensor a = parameter_of({1, 2}, "a"), b = parameter_of({1, 2}, "b"), c = parameter_of({1, 2}, "c"),
               target = vector_of({0, 0});
  SGD first({a});
  std::optional<SGD> second;
  second.emplace(std::vector<Tensor>{b});
  const auto step = [&] {
    optim::zero_grad(std::vector<Tensor>{a, b, c});
    Tape tape;
    const Tensor x = distance_to(a, with_shape(target, {1, 2}));
    const Tensor y = distance_to(b, with_shape(target, {1, 2}));
    const Tensor z = distance_to(c, with_shape(target, {1, 2}));
    static const Op add{"add3",
                        {.forward =
                             [](Inputs in, const Attributes&) {
                               return full({}, in[0].item() + in[1].item() + in[2].item(), f64);
                             },
                         .rule =
                             [](const Step&, const Tensor& dy, Needs) {
                               return Gradients{dy, dy, dy};
                             }}};
    tape.backward(apply(add, {x, y, z}));
    return first.step();
  };
  CHECK(step().unheld == Names{"c"});
  SGD moved = std::move(*second);
  second.reset();
  CHECK(step().unheld == Names{"c"});
  { const SGD gone = std::move(moved); }
  CHECK(step().unheld == Names{"b", "c"});
  give(a, {1, 1});
  CHECK(first.step().unheld.empty());  // no tape is alive
}

TEST_CASE("groups have options of their own") {
  const Tensor a = parameter_of({1}, "a"), b = parameter_of({1}, "b");
  SGD sgd({{{a}, {.learning_rate = 0.5}}, {{b}, {.learning_rate = 0.25, .momentum = 0.5}}});
  for (int i = 0; i < 2; ++i) {
    give(a, {1});
    give(b, {1});
    sgd.step();
  }
  CHECK(a.item() == 0);
  CHECK(b.item() == 1 - 0.25 - 0.25 * 1.5);
  sgd.set_learning_rate(0, 1);
  CHECK(sgd.options(0).learning_rate == 0.5);
  CHECK(sgd.options(1).learning_rate == 0);
  give(b, {1});
  sgd.step();
  CHECK(b.item() == 1 - 0.25 - 0.25 * 1.5);
  REQUIRE_THROWS_WITH(SGD({{{a}, {}}, {{b, a}, {}}}), Says("parameter 'a' is given twice"));
  Adam adam({{{a}, {.learning_rate = 0.5}}, {{b}, {}}}, {.clip_norm = 1});
  CHECK(adam.options(1).learning_rate == 1e-3);
}

TEST_CASE("schedules multiply the rates of all groups; one that gives no number refuses the step") {
  const Tensor a = parameter_of({1}, "a");
  double factor = 0.5;
  SGD sgd({a}, {.learning_rate = 1},
          {.schedule = [&](std::int64_t step) { return factor * static_cast<double>(step); }});
  give(a, {1});
  CHECK(sgd.step().factor == 0.5);
  CHECK(a.item() == 0.5);
  give(a, {1});
  CHECK(sgd.step().factor == 1);
  CHECK(a.item() == -0.5);
  for (const double bad : {-1.0, static_cast<double>(NAN), static_cast<double>(INFINITY)}) {
    factor = bad;
    give(a, {1});
    REQUIRE_THROWS_WITH(
        sgd.step(), Says("[sgd] the schedule gives ") && Says(" for step 3; need a finite number from 0"));
    CHECK(a.item() == -0.5);
    CHECK(a.has_grad());
    CHECK(sgd.steps() == 2);
  }
}

TEST_CASE("the norm over all gradients is clipped") {
  const Tensor a = parameter_of({0}, "a"), b = parameter_of({0, 0}, "b"), none = parameter_of({0}, "none");
  SECTION("by an optimizer, which leaves nothing to clip again") {
    SGD sgd({a, b, none}, {.learning_rate = 1}, {.clip_norm = 1.5});
    give(a, {2});
    give(b, {-2, 1});
    const optim::StepReport report = sgd.step();
    CHECK(report.gradient_norm == 3);
    CHECK(report.scale == 0.5);
    CHECK(a.item() == -1);
    CHECK(b.to_vector() == Numbers{1, -0.5});
    CHECK(report.parameters[0].gradient_norm == 2);
    give(a, {1});
    CHECK(sgd.step().scale == 1);
    CHECK(a.item() == -2);
  }
  SECTION("by hand") {
    const std::vector<Tensor> all{a, b, none};
    give(a, {2});
    give(b, {-2, 1});
    CHECK(optim::clip_norm(all, 3) == 3);
    CHECK(a.grad().item() == 2);
    CHECK(optim::clip_norm(all, 1.5) == 3);
    CHECK(a.grad().item() == 1);
    CHECK(b.grad().to_vector() == Numbers{-1, 0.5});
    CHECK_FALSE(none.has_grad());
    CHECK(optim::clip_norm(std::vector<Tensor>{}, 1) == 0);
    REQUIRE_THROWS_WITH(optim::clip_norm(all, 0),
                        Says("[clip_norm] the largest norm allowed is 0; need a number above 0"));
    give(b, {1, NAN});
    give(a, {100});
    REQUIRE_THROWS_WITH(optim::clip_norm(all, 1),
                        Says("[clip_norm] the gradient of 'b' is nan at position [1]"));
    CHECK(a.grad().item() == 100);
    optim::zero_grad(all);
    CHECK_FALSE(a.has_grad());
    CHECK_FALSE(b.has_grad());
  }
  SECTION("also where the squares overflow") {
    SGD sgd({b}, {.learning_rate = 1}, {.clip_norm = 5});
    give(b, {3e200, 4e200});
    sgd.step();
    CHECK(b.to_vector()[0] == Approx(-3));
    CHECK(b.to_vector()[1] == Approx(-4));
  }
}

TEST_CASE("an optimizer that loads the state of another goes on as it would") {
  const auto gradient = [](const Tensor& w, int t) { give(w, {std::sin(t), 1.0 / t, t % 3 - 1.0}); };
  const auto run = [&](optim::Optimizer& optimizer, int from, int to) {
    for (int t = from; t <= to; ++t) {
      gradient(optimizer.parameters()[0], t);
      if (t % 2) gradient(optimizer.parameters()[1], -t);
      optimizer.step();
    }
  };
  const auto make = [](const Tensor& a, const Tensor& b) {
    return Adam({a, b}, {.learning_rate = 0.1}, {.schedule = optim::cosine(20)});
  };
  const Tensor a = parameter_of({1, 2, 3}, "a"), b = parameter_of({4, 5, 6}, "b", f32);
  Adam whole = make(a, b);
  run(whole, 1, 5);
  const Tensor a2 = parameter(a, "a"), b2 = parameter(b, "b");
  const auto state = whole.state();
  Adam resumed = make(a2, b2);
  resumed.load_state(state);
  run(whole, 6, 12);
  run(resumed, 6, 12);
  CHECK(a.to_vector() == a2.to_vector());
  CHECK(b.to_vector() == b2.to_vector());
  CHECK(resumed.steps() == 12);

  Names names;
  for (const auto& [name, tensor] : state) names.push_back(name);
  CHECK(names == Names{"steps", "updates.a", "first_moment.a", "second_moment.a", "updates.b",
                       "first_moment.b", "second_moment.b"});
  CHECK(state[0].second.item() == 5);
  CHECK(state[4].second.item() == 3);

  // The loaded state is a copy, and loading again starts from it again.
  run(resumed, 13, 14);
  CHECK(state[2].second.to_vector() != resumed.state()[2].second.to_vector());
}

TEST_CASE("a state that does not fit is refused whole, with every name that is wrong") {
  const Tensor a = parameter_of({1, 2}, "a"), b = parameter_of({3}, "b");
  Adam adam({a, b});
  give(a, {1, 1});
  give(b, {1});
  adam.step();
  const auto before = adam.state();
  auto state = before;
  state.erase(state.begin() + 2);         // first_moment.a
  state[2].second = zeros({3}, f64);      // second_moment.a
  state.back().second = zeros({1}, f32);  // second_moment.b
  state.emplace_back("momentum.c", zeros({1}));
  state[0].second = full({}, 1.5, f64);
  REQUIRE_THROWS_WITH(
      adam.load_state(state),
      Says("[adam] the state does not fit the optimizer: no count: steps is 1.5; missing: first_moment.a; "
           "misshapen: second_moment.a is f64 (3), need f64 (2); misshapen: second_moment.b is f32 (1), "
           "need f64 (1); unexpected: momentum.c"));
  const auto after = adam.state();
  for (std::size_t i = 0; i < after.size(); ++i)
    CHECK(after[i].second.to_vector() == before[i].second.to_vector());

  REQUIRE_THROWS_WITH(adam.load_state({}), Says("missing: steps"));
  state = before;
  state.push_back(before[1]);
  REQUIRE_THROWS_WITH(adam.load_state(state), Says("[adam] the state holds 'updates.a' twice"));
  SGD plain({a, b});
  REQUIRE_THROWS_WITH(plain.load_state(before), Says("unexpected: first_moment.a"));

  Adam twins({parameter_of({1}, "w"), parameter_of({1}, "w")});
  REQUIRE_THROWS_WITH(twins.state(), Says("[adam] two parameters are named 'w'"));
}

TEST_CASE("an optimizer without parameters, and empty parameters") {
  Adam none(std::vector<Tensor>{});
  CHECK(none.step().parameters.empty());
  CHECK(none.steps() == 1);
  const Tensor empty_one = parameter(zeros({0, 3}), "e");
  Adam adam({empty_one});
  empty_one.add_grad(zeros({0, 3}));
  const optim::StepReport report = adam.step();
  CHECK(report.parameters.size() == 1);
  CHECK(report.gradient_norm == 0);
}

TEST_CASE("an optimizer's step has the same bits for any number of threads", "[threads]") {
  const int before = kernels::threads();
  const auto run = [](int threads, DType dtype) {
    kernels::set_threads(threads);
    Rng rng{5};
    const Tensor w = parameter(randn({300007}, rng, dtype), "w");
    Adam adam({w}, {.learning_rate = 0.1}, {.clip_norm = 0.5, .norms = true});
    double norms = 0;
    for (int t = 0; t < 3; ++t) {
      w.add_grad(randn({300007}, rng, dtype));
      const optim::StepReport report = adam.step();
      norms += report.gradient_norm + report.parameters[0].update_norm;
    }
    return std::pair(w.to_vector(), norms);
  };
  for (const DType dtype : {f32, f64}) {
    const auto one = run(1, dtype);
    CHECK(run(4, dtype) == one);
    CHECK(run(3, dtype) == one);
  }
  kernels::set_threads(before);
}
