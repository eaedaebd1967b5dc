// Row programs against a naive twin, number by number: every instruction, at every width 1 … 67, and its
// derivative.
#include "autograd/kernels/row_program.hpp"

#include <cmath>
#include <vector>

#include "autograd/kernels/threads.hpp"
#include "autograd/random.hpp"
#include "tests/catch.hpp"

using namespace pencil::kernels;

namespace {

using Numbers = std::vector<double>;

// The program for one row; the result of an instruction is a row, or one number.
Numbers twin(const RowProgram& program, std::size_t width, const std::vector<Numbers>& x, const Numbers& dy) {
  std::vector<Numbers> made;
  for (const RowStep& step : program.steps()) {
    const auto operand = [&](std::size_t k, std::size_t i) {
      return made[static_cast<std::size_t>(step.operands[k])][i];
    };
    Numbers y(step.row ? width : 1);
    const auto a = step.operands[0] < 0 ? Numbers{} : made[static_cast<std::size_t>(step.operands[0])];
    double sum = 0, largest = a.empty() ? 0 : a[0], smallest = largest;
    for (const double v : a) sum += v, largest = std::max(largest, v), smallest = std::min(smallest, v);
    for (std::size_t i = 0; i < y.size(); ++i) switch (step.word) {
        case RowWord::argument:
          y[i] = x[static_cast<std::size_t>(step.value)][i];
          break;
        case RowWord::upstream:
          y[i] = dy[i];
          break;
        case RowWord::number:
          y[i] = step.value;
          break;
        case RowWord::size:
          y[i] = static_cast<double>(width);
          break;
        case RowWord::spread:
          y[i] = a[0];
          break;
        case RowWord::fixed:
          y[i] = a[i];
          break;
        case RowWord::sum:
          y[i] = sum;
          break;
        case RowWord::mean:
          y[i] = sum / static_cast<double>(width);
          break;
        case RowWord::largest:
          y[i] = largest;
          break;
        case RowWord::smallest:
          y[i] = smallest;
          break;
        default:
          y[i] = with_formula(step.word, [&](auto formula) -> double {
            if constexpr (decltype(formula)::arity == 1)
              return formula(operand(0, i));
            else if constexpr (decltype(formula)::arity == 2)
              return formula(operand(0, i), operand(1, i));
            else
              return formula(operand(0, i), operand(1, i), operand(2, i));
          });
      }
    made.push_back(std::move(y));
  }
  return made.back();
}

template <class T>
void check(const RowProgram& program, std::size_t rows, std::size_t width, bool row_upstream,
           double allowed) {
  pencil::Rng rng{width};
  const auto random = [&](std::size_t n) {
    std::vector<T> numbers(n);
    for (T& v : numbers) v = static_cast<T>(rng.uniform() * 2 - 1);
    return numbers;
  };
  // The second argument is a row for all, the third a number for each row.
  const std::vector<T> a = random(rows * width), b = random(width), c = random(rows);
  const std::vector<T> dy = random(row_upstream ? rows * width : rows);
  const std::int64_t shape[]{static_cast<std::int64_t>(rows), static_cast<std::int64_t>(width)};
  const std::int64_t column[]{shape[0], 1};
  const Broadcast walk = plan(shape, {shape, std::span(shape).subspan(1), column});
  const T* const x[]{a.data(), b.data(), c.data()};
  const T untouched = T{-77};
  std::vector<T> out((program.gives_row() ? rows * width : rows) + 1, untouched);
  run(program, shape[0], shape[1], RowInputs<T>{walk, x, dy.data()}, out.data());
  REQUIRE(out.back() == untouched);
  for (std::size_t row = 0; row < rows; ++row) {
    const auto part = [&](const std::vector<T>& from, std::size_t first) {
      return Numbers(from.begin() + static_cast<std::ptrdiff_t>(first),
                     from.begin() + static_cast<std::ptrdiff_t>(first + width));
    };
    const Numbers up = row_upstream ? part(dy, row * width) : Numbers{dy[row]};
    const Numbers want = twin(program, width, {part(a, row * width), part(b, 0), Numbers(width, c[row])}, up);
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double got = out[row * want.size() + i];
      if (!(std::abs(got - want[i]) <= allowed * std::max(1.0, std::abs(want[i])))) {
        CAPTURE(rows, width, row, i, got, want[i]);
        FAIL("a row differs from its twin");
      }
    }
  }
}

// Every instruction at least once.
RowProgram everything(bool row) {
  RowProgram p(3);
  const int x = p.argument(0), w = p.argument(1), c = p.argument(2);
  using W = RowWord;
  const auto of = [&](W word, int a, int b = -1, int d = -1) { return p.apply(word, a, b, d); };
  const auto plus = [&](int a, int b) { return of(W::add, a, b); };
  int total = of(W::mul, x, w);
  for (const W word : {W::neg, W::abs, W::exp, W::expm1, W::tanh, W::sin, W::cos, W::erf})
    total = plus(total, of(word, plus(x, p.number(0.5))));
  const int positive = plus(of(W::mul, x, x), p.number(1));
  for (const W word : {W::sqrt, W::rsqrt, W::log, W::log1p}) total = plus(total, of(word, positive));
  total = plus(total, of(W::pow, positive, w));
  total = plus(total, of(W::pow, x, p.number(2)));
  total = of(W::div, total, of(W::maximum, positive, c));
  total = of(W::sub, total, of(W::minimum, x, p.number(0.25)));
  const int less = of(W::less, x, w),
            mask = of(W::either, of(W::both, less, of(W::less_equal, c, p.number(0))),
                      of(W::not_equal, of(W::equal, x, w), p.number(0)));
  total = of(W::select, mask, total, of(W::mul, x, p.number(3)));
  total = of(W::select, of(W::opposite, less, p.number(0), p.number(1)), total, of(W::fixed, w));
  const int middle = p.fold(W::mean, x), most = p.fold(W::largest, total), least = p.fold(W::smallest, c);
  const int chosen = of(W::select, of(W::less, middle, p.number(0)), most, of(W::mul, least, p.number(2)));
  total = plus(of(W::mul, total, chosen), of(W::div, p.size(), plus(p.fold(W::sum, positive), p.number(1))));
  p.finish(row ? total : p.fold(W::sum, total));
  return p;
}

}  // namespace

TEMPLATE_TEST_CASE("Row programs and their derivatives agree with a naive twin at every width", "", float,
                   double) {
  const double close = sizeof(TestType) == 4 ? 2e-3 : 1e-10;
  for (const bool row : {true, false}) {
    const RowProgram f = everything(row);
    CHECK(f.gives_row() == row);
    std::vector<RowProgram> derivatives;
    for (int i = 0; i < 3; ++i) derivatives.push_back(derivative(f, i));
    for (std::size_t width = 1; width <= 67; ++width)
      for (const std::size_t rows : {std::size_t{1}, std::size_t{5}}) {
        check<TestType>(f, rows, width, row, close);
        for (const RowProgram& d : derivatives) check<TestType>(d, rows, width, row, 20 * close);
      }
    check<TestType>(f, 300, 130, row, 20 * close);
    check<TestType>(f, 2, 5000, row, 20 * close);
  }
}

TEST_CASE("What is written twice is computed once, and what is not needed is dropped") {
  RowProgram p(1);
  const int x = p.argument(0);
  CHECK(p.apply(RowWord::exp, x) == p.apply(RowWord::exp, x));
  CHECK(p.number(2) == p.number(2));
  CHECK(p.number(0.0) != p.number(-0.0));
  p.apply(RowWord::sin, x);
  p.finish(p.apply(RowWord::exp, x));
  CHECK(p.steps().size() == 2);
  CHECK(derivative(p, 0).steps().size() == 4);  // x, eˣ, dy, dy eˣ
}

TEST_CASE("The derivative by what has no part in a row program is 0") {
  RowProgram p(2);
  p.argument(1);
  p.finish(p.fold(RowWord::sum, p.argument(0)));
  const double x[]{1, 2, 3}, dy = 5;
  const double* const inputs[]{x, x};
  double out[3];
  run(derivative(p, 1), 1, 3, RowInputs<double>{flat_plan(3, 2), inputs, &dy}, out);
  CHECK((out[0] == 0 && out[1] == 0 && out[2] == 0));
  run(derivative(p, 0), 1, 3, RowInputs<double>{flat_plan(3, 2), inputs, &dy}, out);
  CHECK((out[0] == 5 && out[1] == 5 && out[2] == 5));
}
