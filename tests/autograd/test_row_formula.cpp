// Formulas over a row: values and gradients against the library's own ops, kinks, shapes, and what is
// refused.

#include "autograd/ops/row_formula.hpp"

#include "autograd/arithmetic.hpp"
#include "autograd/kernels/threads.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/ops/gradcheck.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/softmax.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

const auto my_softmax = row_formula("my_softmax", [](auto x) {
  const auto e = exp(x - constant(max(x)));
  return e / sum(e);
});
const auto rms_norm = row_formula("rms_norm", [](auto x) { return x / sqrt(mean(x * x) + 1e-6); });
const auto my_layer_norm = row_formula("my_layer_norm", [](auto x, auto weight, auto bias) {
  const auto centred = x - mean(x);
  return centred * rsqrt(mean(square(centred)) + 1e-5) * weight + bias;
});
const auto my_logsumexp = reduction("my_logsumexp", [](auto x) {
  const auto most = constant(max(x));
  return most + log(sum(exp(x - most)));
});
const auto my_norm = reduction("my_norm", [](auto x) { return sqrt(sum(x * x)); });
const auto weighted_mean = reduction("weighted_mean", [](auto x, auto w) { return sum(x * w) / sum(w); });
const auto spread = reduction("spread", [](auto x) { return max(x) - min(x); });
// every instruction there is
const auto everything = row_formula("everything", [](auto x, auto y) {
  const auto a = exp(x) + expm1(x / 3) - log(abs(y) + 1) * log1p(square(x)) + sqrt(square(y) + 1);
  const auto b = rsqrt(square(x) + 2) + sin(x) * cos(y) + tanh(x - y) + erf(x * y) + pow(abs(x) + 1, 1.5);
  const auto c = max(x, y) * min(x, 0.25) + pow(x, 2) + pow(2, y) + pow(square(x) + 1, y) - (-x);
  const auto d = select(x > y && y > 0, a, b) + select(!(x <= y) || x == 7, b, 2.0) + select(x != y, c, 1);
  const auto e = select(mean(x) < sum(y), max(x), min(y)) * size(x);
  auto f = d + e * b;
  f += sum(x);
  f *= 0.5;
  f -= mean(y);
  f /= 3;
  return f;
});

using Function = Tensor (*)(const Tensor&);

// The value and the gradient of an op, beside those of a function of ops.
template <class F>
void same_as(const Op& op, const F& f, const std::vector<Tensor>& inputs, double close) {
  const auto result = [&](const auto& call) {
    Tape tape;
    const Tensor y = call(inputs);
    const Tensor upstream = random(y.shape(), 5).to(y.dtype());
    std::vector<Tensor> all = tape.gradient(y, inputs, {.upstream = upstream});
    all.push_back(y);
    return all;
  };
  const auto got = result([&](const std::vector<Tensor>& in) { return apply(op, in, {}, Where{}); });
  const auto want = result(f);
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(distance(got[i], want[i]) < close);
}

}  // namespace

TEST_CASE("a row formula gives what the library's op gives, and its gradient") {
  for (const DType dtype : {f64, f32})
    for (const Shape& shape :
         {Shape{7}, Shape{5, 3}, Shape{2, 3, 40}, Shape{600, 33}, Shape{3, 1}, Shape{2, 5000}}) {
      INFO(to_string(shape) << " of " << name_of(dtype));
      const double close = dtype == f64 ? 1e-12 : 1e-5;
      const Tensor x = random(shape, 1, dtype);
      using In = const std::vector<Tensor>&;
      same_as(
          my_softmax, [](In in) { return softmax(in[0]); }, {x}, close);
      same_as(
          my_logsumexp, [](In in) { return logsumexp(in[0], -1); }, {x}, close);
      same_as(
          my_norm, [](In in) { return norm(in[0], -1); }, {x}, close);
      same_as(
          spread, [](In in) { return max(in[0], -1) - min(in[0], -1); }, {x}, close);
      const Shape width{shape[-1]};
      same_as(
          my_layer_norm, [](In in) { return layer_norm(in[0], in[1], in[2]); },
          {x, random(width, 2, dtype), random(width, 3, dtype)}, shape[-1] == 1 ? 1e-2 : close * 20);
    }
}

TEST_CASE("every instruction of row formulas has its derivative, and the derivative of that") {
  CHECK_NOTHROW(gradgradcheck(everything, {random({3, 5}, 1), random({3, 5}, 2)}));
  CHECK_NOTHROW(gradgradcheck(everything, {random({2, 3, 4}, 1), random({3, 1}, 2)}));
  CHECK_NOTHROW(gradgradcheck(my_softmax, {random({3, 4}, 1)}));
  CHECK_NOTHROW(gradgradcheck(rms_norm, {random({2, 3, 4}, 1)}));
  CHECK_NOTHROW(gradgradcheck(my_layer_norm, {random({3, 4}, 1), random({4}, 2), random({4}, 3)}));
  CHECK_NOTHROW(gradgradcheck(my_logsumexp, {random({3, 4}, 1)}));
  CHECK_NOTHROW(gradgradcheck(weighted_mean, {random({3, 4}, 1), abs(random({4}, 2))}));
  CHECK_NOTHROW(gradgradcheck(weighted_mean, {random({2, 1, 4}, 1), abs(random({3, 4}, 2))}));
  CHECK_NOTHROW(gradgradcheck(spread, {random({3, 4}, 1)}));
  CHECK_NOTHROW(gradcheck(everything, {random({300, 7}, 1), random({300, 7}, 2)}));
}

TEST_CASE("in ops, one by one, a row formula comes to the same") {
  const std::pair<const Op*, std::vector<Tensor>> all[] = {
      {&everything.op(), {random({3, 5}, 1), random({3, 1}, 2)}},
      {&everything.op(), {random({5}, 1), random({4, 2, 5}, 2)}},
      {&my_softmax.op(), {random({3, 5}, 1)}},
      {&weighted_mean.op(), {random({3, 5}, 1), abs(random({1}, 2))}},
      {&spread.op(), {random({5}, 1)}}};
  for (const auto& [op, inputs] : all) {
    INFO(op->word());
    const auto run = [op = op, inputs = inputs](Detail detail) {
      Tape tape{{.detail = detail}};
      const Tensor y = apply(*op, inputs, {}, Where{});
      CHECK((tape.step(tape.step_of(y)).word() == op->word()) == (detail == Detail::fast));
      std::vector<Tensor> results = tape.gradient(y, inputs, {.upstream = random(y.shape(), 3)});
      results.push_back(y);
      return results;
    };
    const auto fast = run(Detail::fast), steps = run(Detail::steps);
    for (std::size_t i = 0; i < fast.size(); ++i) CHECK(distance(fast[i], steps[i]) < 1e-12);
  }
}

TEST_CASE("the second derivative of a row formula is right, and a third one is refused") {
  // log Σ eˣ at two equal numbers: the derivatives of log(1 + e^t) at 0 are 1/2 and 1/4
  const Tensor x = tensor({0, 0}, f64);
  Tape tape;
  const Tensor first = tape.gradient(my_logsumexp(x), {x}, {.record = true})[0][0];
  const Tensor second = tape.gradient(first, {x}, {.record = true})[0][0];
  CHECK(first.item() == Approx(0.5));
  CHECK(second.item() == Approx(0.25));
  CHECK_THROWS_WITH(tape.gradient(second, {x}), Says("third derivatives of a formula are not known"));
}

TEST_CASE("a row formula says its arithmetic, and it comes to what was computed") {
  for (const DType dtype : {f64, f32})
    for (const RowFormula* formula :
         {&my_softmax, &rms_norm, &my_logsumexp, &weighted_mean, &spread, &everything, &my_layer_norm}) {
      std::vector<Tensor> inputs{random({2, 3}, 1, dtype), random({3}, 2, dtype), random({2, 1}, 3, dtype)};
      inputs.resize(static_cast<std::size_t>(formula->arity()));
      Tape tape;
      const Tensor y = apply(*formula, inputs, {}, Where{});
      INFO(formula->op().word());
      const Step step = tape.step(tape.step_of(y));
      for (std::int64_t i = 0; i < y.size(); ++i) {
        Worksheet sheet(step);
        const Worked worked = step.op().parts().explain(sheet, i);
        CHECK(worked.value() ==
              Approx(numbers(y)[static_cast<std::size_t>(i)]).epsilon(dtype == f64 ? 1e-12 : 2e-5));
        CHECK(sheet.terms().size() > 3);
      }
    }
}

TEST_CASE("rows have the same bits wherever they stand, and on any number of threads") {
  for (const DType dtype : {f64, f32})
    for (const std::int64_t width : {1, 3, 16, 67, 3000}) {
      const std::int64_t rows = 40000 / width + 3;
      const Tensor x = random({rows, width}, 4, dtype), w = random({width}, 5, dtype);
      const int before = kernels::threads();
      std::vector<Tensor> results;
      for (const int team : {1, 2, 3}) {
        kernels::set_threads(team);
        Tape tape;
        const Tensor y = everything(x, w);
        results.push_back(concat({y, tape.gradient(sum(y), {x})[0]}, 1));
      }
      kernels::set_threads(before);
      CHECK(same_numbers(results[0], results[1]));
      CHECK(same_numbers(results[0], results[2]));
      const Tensor last = slice(x, 0, rows - 1, rows);
      CHECK(same_numbers(everything(last, w)[0], slice(results[0], 1, 0, width)[-1]));
    }
}

TEST_CASE("kinks of row formulas are those of the library") {
  CHECK(numbers(gradient_at(reduction("most", [](auto x) { return max(x); }), tensor({3, 3, 1}, f64))) ==
        Numbers{0.5, 0.5, 0});
  CHECK(numbers(gradient_at(reduction("least", [](auto x) { return min(x); }), tensor({3, 1, 1, 1}, f64))) ==
        Numbers{0, 1. / 3, 1. / 3, 1. / 3});
  const auto bent = reduction("bent", [](auto x) { return sum(abs(x) + max(x, 0)); });
  CHECK(numbers(gradient_at(bent, tensor({-2, 0, 2}, f64))) == Numbers{-1, 0.5, 2});
  const auto safe = reduction("safe", [](auto x) { return sum(select(x > 0, log(x), 0)); });
  CHECK(numbers(gradient_at(safe, tensor({-1, 0, 2}, f64))) == Numbers{0, 0, 0.5});
  const auto chosen = reduction("chosen", [](auto x) { return sum(max(log(x), -1) + min(sqrt(x), x - 5)); });
  CHECK(numbers(gradient_at(chosen, tensor({0, 1}, f64))) == Numbers{1, 2});
  const auto power = reduction("power", [](auto x) { return sum(pow(x, 0) + pow(x, 2)); });
  CHECK(numbers(gradient_at(power, tensor({-3, 0}, f64))) == Numbers{-6, 0});
}

TEST_CASE("what is not finite passes through rows") {
  CHECK(std::isnan(my_norm(tensor({1, no_number}, f64)).item()));
  CHECK(std::isnan(spread(tensor({1, no_number}, f64)).item()));
  CHECK(my_logsumexp(tensor({1000, 1000}, f64)).item() == Approx(1000 + std::log(2)));
  CHECK(numbers(my_softmax(tensor({-infinity, 0, 0}, f64))) == Numbers{0, 0.5, 0.5});
}

TEST_CASE("row formulas of few, of one and of no numbers") {
  CHECK(numbers(my_softmax(tensor({{3}, {4}}, f64))) == Numbers{1, 1});
  CHECK(my_norm(zeros({2, 0}, f64)).shape() == Shape{2});
  CHECK(numbers(my_norm(zeros({2, 0}, f64))) == Numbers{0, 0});
  CHECK(rms_norm(zeros({2, 0}, f64)).shape() == Shape{2, 0});
  CHECK(rms_norm(zeros({0, 4}, f64)).shape() == Shape{0, 4});
  CHECK(gradient_at([](const Tensor& x) { return sum(rms_norm(x)); }, zeros({0, 4}, f64)).shape() ==
        Shape{0, 4});
  CHECK(gradient_at([](const Tensor& x) { return sum(my_norm(x)); }, zeros({2, 0}, f64)).shape() ==
        Shape{2, 0});
  const auto average = reduction("average", [](auto x) { return mean(x) + size(x); });
  CHECK(numbers(average(zeros({2, 0}, f64))) == Numbers{0, 0});
  CHECK_THROWS_WITH(
      spread(zeros({2, 0}, f64)),
      "[spread] asks for the largest or smallest number of a row; the rows of (2, 0) are empty");
}

TEST_CASE("a row formula may be of captured numbers, loops, an argument or a number alone") {
  const double beta = 3;
  const std::vector<double> weights{1, 0.5, 0.25};
  const auto series = row_formula("series", [&](auto row) {
    auto total = row * beta;
    for (const double w : weights) total += w * sin(row);
    return total;
  });
  const Tensor x = random({2, 3}, 1);
  CHECK(distance(series(x), 3 * x + 1.75 * sin(x)) < 1e-14);
  CHECK(same_numbers(row_formula("same", [](auto row) { return row; })(x), x));
  CHECK(numbers(reduction("three", [](auto row) { return size(row); })(x)) == Numbers{3, 3});
  const auto second = row_formula("second", [](auto, auto b) { return constant(b); });
  CHECK(same_numbers(second(x, x * 2), x * 2));
  CHECK(all_zero(gradient_at([&](const Tensor& t) { return sum(second(t, t)); }, x)));
  CHECK(numbers(weighted_mean(tensor({1, 2, 6}, f64), 1)) == Numbers{3});
}

TEST_CASE("what does not fit a row formula is refused by its name") {
  CHECK_THROWS_WITH(my_softmax(tensor(1, f64)),
                    "[my_softmax] works on rows, the last axis; a tensor of shape () has "
                    "no axis: reshape it to (1)");
  CHECK_THROWS_WITH(my_softmax(tensor({1, 2}, i32)), Says("[my_softmax] input 0 is i32; need f32 or f64"));
  CHECK_THROWS_WITH(weighted_mean(random({3}, 1), random({3}, 2, f32)),
                    Says("[weighted_mean] dtypes differ"));
  CHECK_THROWS_WITH(weighted_mean(random({3}, 1), random({4}, 2)),
                    Says("[weighted_mean] shapes do not broadcast: (3) and (4)"));
  CHECK_THROWS_WITH(weighted_mean(random({3}, 1)), "[weighted_mean] takes 2 inputs, was given 1");
  CHECK_THROWS_WITH(weighted_mean(1, 2), Says("[weighted_mean] was given plain numbers only"));
  const Row* kept = nullptr;
  CHECK_THROWS_WITH(row_formula("outer",
                                [&](auto x) {
                                  const Row mine = x;
                                  kept = &mine;
                                  return row_formula("inner", [&](auto y) { return y * *kept; }), x;
                                }),
                    Says("a row of one formula was used in another"));
}
