#include "autograd/ops/gradcheck.hpp"

#include "autograd/ops/compare.hpp"
#include "autograd/ops/formula.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// y = x, with dx = dy but for element `wrong`, where it is 1.001 dy
Op wrong_at(std::int64_t wrong) {
  static std::int64_t at;
  at = wrong;
  return {"copy",
          {.forward = [](Inputs in, const Attributes&) { return Computed(with_shape(in[0], in[0].shape())); },
           .rule =
               [](const Step&, const Tensor& dy, Needs) {
                 Tensor factor = ones(dy.shape(), f64);
                 factor.writable<double>()[static_cast<std::size_t>(at)] = 1.001;
                 return Gradients{dy * factor};
               }}};
}

}  // namespace

TEST_CASE("gradcheck names the element whose gradient is wrong") {
  CHECK_THROWS_WITH(
      gradcheck(wrong_at(5), {random({2, 3}, 1)}),
      Says("[gradcheck] copy, argument 0 of shape (2, 3), element [1, 2]: the analytic gradient is"));
  CHECK_THROWS_WITH(gradcheck(wrong_at(0), {random({}, 1)}), Says("of shape (), element []"));
}

TEST_CASE("formulas raise to any power: a plain one, a captured one, and one that is an argument") {
  const Tensor x = abs(random({5}, 1)) + 0.5, y = random({5}, 2);
  gradgradcheck(elementwise("plain", [](auto v) { return pow(v, 1.5); }), {x});
  gradgradcheck(elementwise("captured", [k = -1.7](auto v) { return pow(v, k); }), {x});
  gradgradcheck(elementwise("base", [](auto v) { return pow(2.0, v); }), {y});
  gradgradcheck(elementwise("both", [](auto v, auto w) { return pow(v, w); }), {x, y});
  CHECK(numbers(elementwise("one", [](auto v) { return pow(v, 0.0); })(x)) == Numbers(5, 1));
}

TEST_CASE("gradcheck finds one wrong element among many") {
  CHECK_THROWS_WITH(gradcheck(wrong_at(1234), {random({40, 50}, 1)}), Says("element [24, 34]"));
}

TEST_CASE("gradcheck passes what is right, large and small") {
  const auto f = [](const Tensor& a, const Tensor& b) { return mean(square(matmul(a, b))); };
  CHECK_NOTHROW(gradcheck(f, {random({3, 4}, 1), random({4, 2}, 2)}, {.second = true}));
  CHECK_NOTHROW(gradcheck(f, {random({30, 40}, 1), random({40, 20}, 2)}));
  CHECK_NOTHROW(gradcheck([](const Tensor& x) { return x; }, {random({3}, 1)}));
}

TEST_CASE("gradcheck takes formulas, ops, and functions of up to four tensors or of all inputs") {
  const auto swish = elementwise("swish", [](auto x) { return x / (1 + exp(-x)); });
  CHECK_NOTHROW(gradcheck(swish, {random({5}, 1)}, {.second = true}));
  const Tensor a = random({2}, 1), b = random({2}, 2), c = random({2}, 3), d = random({2}, 4);
  CHECK_NOTHROW(
      gradcheck([](const Tensor& x, const Tensor& y, const Tensor& z) { return x * y + z; }, {a, b, c}));
  CHECK_NOTHROW(gradcheck(
      [](const Tensor& x, const Tensor& y, const Tensor& z, const Tensor& w) { return x * y + z * w; },
      {a, b, c, d}));
  CHECK_NOTHROW(gradcheck([](Inputs in) { return concat(in, 0); }, {a, b, c, d, a}));
  CHECK_THROWS_WITH(gradcheck([](const Tensor& x) { return x; }, {a, b}),
                    Says("takes 1 tensors and was given 2"));
}

TEST_CASE("gradcheck of a second derivative catches a rule that keeps a detached copy") {
  // y = x³, its rule through values cut off from the tape: right once, wrong twice
  const Op cube{"cube",
                {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * square(in[0])); },
                 .rule = [](const Step& s, const Tensor& dy,
                            Needs) { return Gradients{dy * 3 * square(s.input(0).detach())}; }}};
  CHECK_NOTHROW(gradcheck(cube, {random({3}, 1)}));
  CHECK_THROWS_WITH(gradcheck(cube, {random({3}, 1)}, {.second = true}),
                    Says("the gradient of cube, argument 0"));
}

TEST_CASE("gradcheck wants f64") {
  CHECK_THROWS_WITH(
      gradcheck([](const Tensor& x) { return x; }, {random({3}, 1, f32)}),
      Says("argument 0 of shape (3) is f32; central differences need f64, for of the 7 digits of f32 a step "
           "of 1e-05 leaves 2: convert with .to(f64)"));
  CHECK_THROWS_WITH(gradcheck([](const Tensor& x) { return x.to(f32); }, {random({3}, 1)}),
                    Says("gives f32"));
}

TEST_CASE("gradcheck calls a NaN wrong, and records nothing on a tape around it") {
  Tape tape;
  const Op op{"holes",
              {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * 1); },
               .rule = [](const Step&, const Tensor& dy, Needs) { return Gradients{dy * no_number}; }}};
  CHECK_THROWS_WITH(gradcheck(op, {random({2}, 1)}), Says("analytic gradient is nan"));
  CHECK(tape.size() == 0);
}

TEST_CASE("gradcheck leaves whole numbers and an op's constants alone") {
  const Op scaled{"scaled",
                  {.forward = [](Inputs in, const Attributes&) { return Computed(in[0] * in[1]); },
                   .rule =
                       [](const Step& s, const Tensor& dy, Needs) {
                         return Gradients{dy * s.input(1), Tensor()};
                       },
                   .constant = 0b10}};
  CHECK_NOTHROW(gradcheck(scaled, {random({2}, 1), random({2}, 2)}));
  CHECK_NOTHROW(gradcheck([](const Tensor& c, const Tensor& x) { return where(c, x, 0); },
                          {tensor({1, 0}, i32), random({2}, 1)}));
}

TEST_CASE("gradcheck reports kinks where the slopes differ, and what they are") {
  const auto clipped = [](const Tensor& x) { return relu(x) + relu(2 * x - 2); };
  const GradcheckReport report = gradcheck(clipped, {tensor({-2, 0, 1, 3}, f64)});
  CHECK(report.numbers == 4);
  REQUIRE(report.kinks.size() == 2);
  CHECK(report.kinks[0].where == "the function, argument 0 of shape (4), element [1]");
  CHECK(report.kinks[1].where == "the function, argument 0 of shape (4), element [2]");
  for (const GradcheckReport::Kink& kink : report.kinks) CHECK(std::abs(kink.right - kink.left) > 0.01);
  CHECK_THAT(to_string(report), Says("4 numbers, of which 2 stand at kinks\n  the function, argument 0"));
  CHECK(to_string(gradcheck(clipped, {tensor({-2, 0.5}, f64)})) == "2 numbers, all agree");
}

TEST_CASE("a kink within the step, a jump, and a bend of the gradient are kinks too") {
  CHECK(gradcheck([](const Tensor& x) { return relu(x); }, {tensor(-6e-6, f64)}).kinks.size() == 1);
  CHECK(gradcheck([](const Tensor& x) { return x + greater(x, 0).to(f64); }, {tensor(0, f64)}).kinks.size() ==
        1);
  const auto bent_twice = [](const Tensor& x) { return square(relu(x)); };
  CHECK(gradcheck(bent_twice, {tensor({0, 1}, f64)}).kinks.empty());
  CHECK(gradgradcheck(bent_twice, {tensor({0, 1}, f64)}).kinks.size() == 1);
}

TEST_CASE("what is curved, or wrong at a smooth place, is no kink") {
  CHECK(gradcheck([](const Tensor& x) { return sin(1000 * x); }, {tensor({0.3, 2}, f64)}).kinks.empty());
  const Op steep{
      "steep",
      {.forward = [](Inputs in, const Attributes&) { return Computed(exp(in[0] * 30)); },
       .rule = [](const Step& s, const Tensor& dy, Needs) { return Gradients{dy * s.output() * 30.1}; }}};
  CHECK_THROWS_WITH(gradcheck(steep, {tensor({0.5}, f64)}), Says("[gradcheck] steep"));
}

TEST_CASE("gradcheck says the step, and calls arguments as it is told") {
  CHECK_THROWS_WITH(gradcheck(wrong_at(1), {tensor({1, 50}, f64)}, {.names = {"dials"}}),
                    Says("[gradcheck] copy, dials of shape (2), element [1]") && Says("with step 0.0005;"));
}

TEST_CASE("gradgradcheck finds a wrong second derivative, and passes right ones") {
  const Op cut{"cut",
               {.forward = [](Inputs in, const Attributes&) { return Computed(square(in[0])); },
                .rule = [](const Step& s, const Tensor& dy,
                           Needs) { return Gradients{dy * 2 * s.input(0).detach()}; }}};
  CHECK_NOTHROW(gradcheck(cut, {random({3}, 1)}));
  CHECK_THROWS_WITH(gradgradcheck(cut, {random({3}, 1)}),
                    Says("[gradcheck] the gradient of cut, argument 0"));
  const GradcheckReport report = gradgradcheck([](const Tensor& a, const Tensor& b) { return matmul(a, b); },
                                               {random({2, 3}, 1), random({3}, 2)});
  CHECK(report.numbers == 9 + 9 + 2);  // the inputs, then they and the upstream gradient
  CHECK_NOTHROW(gradgradcheck([](Inputs in) { return concat(in, 0); }, {random({2}, 1), random({3}, 2)}));
}
