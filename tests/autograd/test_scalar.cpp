// Scalars: values, gradients, and what a tape's life means to them.

#include "autograd/scalar.hpp"

#include <thread>

#include "tests/autograd/error_of.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// The gradients of f at x, by Scalars.
template <class F>
Numbers gradient_of(const F& f, const Numbers& x) {
  Tape tape;
  const std::vector<Scalar> leaves = scalars(x);
  const Scalar y = f(leaves);
  tape.backward(y);
  Numbers found;
  for (const Scalar& leaf : leaves) found.push_back(leaf.grad());
  return found;
}

}  // namespace

TEST_CASE("a statement brings each of its Scalars its derivative") {
  Tape tape;
  const std::vector<Scalar> s = scalars({2, 1, 1, 0});
  const Scalar q = s[0] * s[1] + exp(s[2]);
  CHECK(q.value() == 2 + std::exp(1.0));
  tape.backward(q);
  CHECK(s[0].grad() == 1);
  CHECK(s[1].grad() == 2);
  CHECK(s[2].grad() == std::exp(1.0));
  CHECK(s[3].grad() == 0);
  CHECK(q.grad() == 1);
}

TEST_CASE("numbers stand on either side of an operator, of any arithmetic type") {
  const auto f = [](const auto& x) { return (2 * x[0] + 1) / (3.0f - x[1]) - 5u * x[0] + x[1] / 4; };
  // with x = (3, 1): d0 = 2/(3−1) − 5, d1 = 7/(3−1)² + 1/4
  CHECK(gradient_of(f, {3, 1}) == Numbers{-4, 2});
}

TEST_CASE("compound assignment reads the old value: a += a, x = x * x") {
  CHECK(gradient_of(
            [](const auto& x) {
              Scalar a = x[0];
              a += a;
              a *= a;
              a -= 1;
              a = a * a;
              a /= x[1];
              return a;
            },
            {3, 2}) == Numbers{2 * 35 * 8 * 3 / 2.0, -35.0 * 35 / 4});
  CHECK(gradient_of(
            [](const auto& x) {
              Scalar a = x[0];
              a -= a;
              return a + x[1];
            },
            {3, 2}) == Numbers{0, 1});
}

TEST_CASE("an expression that is kept holds its operands by value and is recorded when it is used") {
  const auto f = [](const auto& x) {
    auto product = x[0] * x[1];
    auto twice = product + product;
    Scalar moved = x[0];
    auto kept = moved * 3;
    moved = x[1] * 100;  // does not reach into `kept`
    return Scalar(twice) + kept;
  };
  CHECK(gradient_of(f, {5, 7}) == Numbers{17, 10});
}

TEST_CASE("an expression may outlive the Scalars it was made of") {
  const auto make = [](const Scalar& x) {
    Scalar local = x * 2;
    return local * local + 1;
  };
  CHECK(gradient_of([&](const auto& x) { return Scalar(make(x[0])); }, {3}) == Numbers{24});
}

TEST_CASE("comparisons compare values, with Scalars, numbers and expressions, and record nothing") {
  Tape tape;
  const std::vector<Scalar> x = scalars({1, 2});
  const int before = tape.size();
  const std::uint64_t end = detail::recorder.next;
  CHECK(x[0] < x[1]);
  CHECK(x[0] <= 1);
  CHECK(2 > x[0]);
  CHECK(x[1] >= x[0] * 2);
  CHECK(x[0] + x[0] == x[1]);
  CHECK(x[0] != 3.5);
  CHECK_FALSE(x[0] > x[1]);
  CHECK(tape.size() == before);
  CHECK(detail::recorder.next == end);
}

TEST_CASE("select records the branch that is taken, and the other not at all") {
  for (const double at : {2.0, -2.0}) {
    Tape tape;
    const std::vector<Scalar> x = scalars({at});
    const Scalar y = select(x[0] > 0, x[0] * x[0], 0.0);
    const std::uint64_t end = detail::recorder.next;
    const Scalar z = select(x[0] > 0, 1, log(x[0] * 0));  // the logarithm of 0 is not there where x > 0
    CHECK((detail::recorder.next == end) == (at > 0));
    if (at > 0) {
      tape.backward(y + z);
      CHECK(x[0].grad() == 2 * at);
    }
  }
}

TEST_CASE("select is the same word for doubles, in code that is generic in its number") {
  const auto f = []<class T>(const T& x) -> T { return select(x > 1, x * x, 1.0) + select(x < 0, 2, x); };
  CHECK(f(3.0) == 12);
  CHECK(f(-3.0) == 3);
  CHECK(gradient_of([&](const auto& x) { return f(x[0]); }, {3}) == Numbers{7});
}

TEST_CASE("std::max and its like, called as generic code calls them, give right derivatives") {
  using std::hypot;
  using std::max;
  using std::min;
  using std::pow;
  CHECK(gradient_of([](const auto& x) { return Scalar(max(x[0], x[1])); }, {3, 2}) == Numbers{1, 0});
  CHECK(gradient_of([](const auto& x) { return Scalar(max(x[0], 4.0)); }, {3}) == Numbers{0});
  CHECK(gradient_of([](const auto& x) { return Scalar(min(x[0] * 2, x[1] * 2)); }, {3, 2}) == Numbers{0, 2});
  CHECK(gradient_of([](const auto& x) { return Scalar(hypot(x[0], x[1])); }, {3, 4}) == Numbers{0.6, 0.8});
  CHECK(gradient_of([](const auto& x) { return Scalar(pow(x[0], 2)); }, {3}) == Numbers{6});
  CHECK(gradient_of([](const auto& x) { return Scalar(pow(x[0], x[1])); }, {2, 3})[0] == 12);
}

TEST_CASE("without a tape a Scalar is a plain double") {
  const std::vector<Scalar> x = scalars({2, 3});
  const Scalar y = x[0] * x[1] + sin(x[0]);
  CHECK(y.value() == 6 + std::sin(2.0));
  CHECK(x[0].is_constant());
  CHECK(y.is_constant());
  CHECK(error_of([&] { (void)y.grad(); }) ==
        "[grad] this Scalar is a constant: no gradient comes to it. Make it with scalars(…) while a tape "
        "records");
}

TEST_CASE("under Pause nothing is recorded, and afterwards again") {
  Tape tape;
  const std::vector<Scalar> x = scalars({2});
  Scalar aside;
  {
    const Tape::Pause pause;
    aside = x[0] * x[0];
    CHECK(aside.is_constant());
    CHECK(scalars({1})[0].is_constant());
  }
  const Scalar y = aside * x[0];
  tape.backward(y);
  CHECK(x[0].grad() == 4);
}

TEST_CASE("constants and numbers in a statement get no gradient and cost none") {
  Tape tape;
  const std::vector<Scalar> x = scalars({2});
  const Scalar three = 3;
  Scalar total = 0;
  total += three * x[0];
  total += three * three;  // no Scalar of the tape: a constant
  tape.backward(total);
  CHECK(total.value() == 15);
  CHECK(x[0].grad() == 3);
  CHECK(three.is_constant());
}

TEST_CASE("a Scalar of a tape that has ended throws when it is used") {
  Scalar old;
  {
    Tape tape;
    old = scalars({2})[0] * 1;
  }
  CHECK(old.value() == 2);
  const std::string wrong =
      "[scalar] a Scalar of a tape that has ended was used; take its value() to go on with it as a constant, "
      "or make it anew on a tape that records";
  CHECK(error_of([&] { (void)Scalar(old * 2); }) == wrong);
  CHECK(error_of([&] { (void)old.grad(); }) ==
        "[grad] the tape of this Scalar has ended; read gradients before it does");
  Tape tape;
  const std::vector<Scalar> x = scalars({2});
  CHECK(error_of([&] { (void)Scalar(x[0] + old); }) == wrong);
  CHECK(error_of([&] { (void)sum(std::vector<Scalar>{x[0], old}); }) == wrong);
  const Scalar y = x[0] + old.value();
  tape.backward(y);
  CHECK(x[0].grad() == 1);
}

TEST_CASE("a Scalar of an outer tape is a constant on the inner one, and goes on afterwards") {
  Tape outer;
  const std::vector<Scalar> x = scalars({2});
  const Scalar square = x[0] * x[0];
  {
    Tape inner;
    const std::vector<Scalar> y = scalars({5});
    CHECK(error_of([&] { inner.backward(square); }) == "[backward] this Scalar is on another tape");
    const Scalar product = square * y[0];
    inner.backward(product);
    CHECK(y[0].grad() == 4);
  }
  const Scalar cube = square * x[0];
  outer.backward(cube);
  CHECK(x[0].grad() == 12);
}

TEST_CASE("a tape that ends before an inner one leaves that one recording") {
  auto outer = std::make_unique<Tape>();
  const std::vector<Scalar> x = scalars({2});
  Tape inner;
  const std::vector<Scalar> y = scalars({3});
  outer.reset();
  const Scalar z = y[0] * y[0];
  inner.backward(z);
  CHECK(y[0].grad() == 6);
}

TEST_CASE("gradients before backward, and of what came later, are refused") {
  Tape tape;
  const std::vector<Scalar> x = scalars({2});
  const Scalar y = x[0] * 3;
  CHECK(error_of([&] { (void)x[0].grad(); }) ==
        "[grad] this Scalar has no gradient yet: backward has not run on its tape");
  tape.backward(y);
  const Scalar later = y * 2;
  CHECK(
      error_of([&] { (void)later.grad(); }) ==
      "[grad] this Scalar was recorded after the number that backward started from: no gradient came to it");
  CHECK(error_of([&] { tape.backward(later); }).starts_with("[backward] this tape has run backward already"));
  CHECK(error_of([&] {
          Tape fresh;
          fresh.backward(Scalar(2));
        }).starts_with("[backward] this Scalar is a constant"));
}

TEST_CASE("gradient may be asked many times and leaves what backward brought") {
  Tape tape;
  const std::vector<Scalar> x = scalars({2, 3});
  const Scalar y = x[0] * x[1];
  const Scalar z = y * y;
  CHECK(tape.gradient(y, x) == Numbers{3, 2});
  CHECK(tape.gradient(z, x) == Numbers{36, 24});
  tape.backward(z);
  CHECK(tape.gradient(y, x) == Numbers{3, 2});
  CHECK(x[0].grad() == 36);
  CHECK(y.grad() == 12);
}

TEST_CASE("each thread has a tape of its own") {
  std::vector<std::thread> threads;
  std::vector<double> found(4);
  for (std::size_t t = 0; t < found.size(); ++t)
    threads.emplace_back([t, &found] {
      for (int turn = 0; turn < 100; ++turn) {
        Tape tape;
        const std::vector<Scalar> x = scalars({static_cast<double>(t)});
        Scalar y = x[0];
        for (int i = 0; i < 100; ++i) y = y * 1.0 + x[0];
        tape.backward(y);
        found[t] = x[0].grad() + y.value();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t t = 0; t < found.size(); ++t) CHECK(found[t] == 101 + 101.0 * static_cast<double>(t));
}

TEST_CASE("a Scalar of another thread's living tape is a constant there") {
  Tape tape;
  const std::vector<Scalar> x = scalars({2});
  std::string error;
  double value = 0;
  std::thread([&] {
    const Scalar y = x[0] * 3;
    value = y.value();
    error = error_of([&] { (void)x[0].grad(); });
  }).join();
  CHECK(value == 6);
  CHECK(error == "[grad] the tape of this Scalar belongs to another thread");
}

TEST_CASE("statements over a range: sum, mean, dot, log_sum_exp") {
  Tape tape;
  const std::vector<Scalar> x = scalars({1, 2, 3}), y = scalars({4, 5, 6});
  const std::uint64_t before = detail::recorder.next;
  const Scalar total = sum(x);
  CHECK(detail::recorder.next > before);
  CHECK(total.value() == 6);
  CHECK(mean(y).value() == 5);
  CHECK(dot(x, y).value() == 32);
  const Scalar peak = log_sum_exp(x);
  const double z = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  CHECK(peak.value() == Approx(std::log(z)));
  CHECK(tape.gradient(total, x) == Numbers{1, 1, 1});
  CHECK(tape.gradient(mean(y), y)[1] == Approx(1 / 3.0));
  const Scalar product = dot(x, y);
  CHECK(tape.gradient(product, x) == Numbers{4, 5, 6});
  CHECK(tape.gradient(product, y) == Numbers{1, 2, 3});
  const Scalar square = dot(x, x);
  CHECK(tape.gradient(square, x) == Numbers{2, 4, 6});
  const Numbers shares = tape.gradient(peak, x);
  for (std::size_t i = 0; i < 3; ++i) CHECK(shares[i] == Approx(std::exp(x[i].value()) / z));
  CHECK(error_of([&] { (void)dot(x, std::span(y).first(2)); }) ==
        "[dot] the left has 3 Scalars, the right 2");
}

TEST_CASE("statements over nothing, over constants, and over infinities") {
  Tape tape;
  const std::vector<Scalar> x = scalars({1, 2});
  const std::vector<Scalar> none;
  CHECK(sum(none).value() == 0);
  CHECK(mean(none).value() == 0);
  CHECK(dot(none, none).value() == 0);
  CHECK(log_sum_exp(none).value() == -infinity);
  const Scalar mixed = dot(std::vector<Scalar>{x[0], 5, x[1]}, std::vector<Scalar>{2, 3, x[0]});
  CHECK(mixed.value() == 19);
  CHECK(tape.gradient(mixed, x) == Numbers{4, 1});
  const std::vector<Scalar> ends = scalars({infinity, 1, infinity});
  const Scalar top = log_sum_exp(ends);
  CHECK(top.value() == infinity);
  CHECK(tape.gradient(top, ends) == Numbers{0.5, 0, 0.5});
  const std::vector<Scalar> low = scalars({-infinity, -infinity});
  CHECK(log_sum_exp(low).value() == -infinity);
  CHECK(tape.gradient(log_sum_exp(low), low) == Numbers{0, 0});
  CHECK(log_sum_exp(scalars({1000, 1000})).value() == Approx(1000 + std::log(2.0)));
}

TEST_CASE("names: each its own, a block's with the number, none for constants") {
  Tape tape;
  const std::vector<Scalar> a = scalars({1, 2}, {"a", "b"}), w = scalars({3, 4}, "w");
  const Scalar z = named(a[0] * w[1], "z");
  CHECK(a[1].name() == "b");
  CHECK(w[1].name() == "w[1]");
  CHECK(z.name() == "z");
  CHECK(Scalar(a[0] + 1).name() == "");
  CHECK(named(Scalar(3), "three").name() == "");
  CHECK(error_of([] {
          (void)scalars({1, 2}, {"a"});
        }) == "[scalars] 2 values came with 1 names; need a name for each");
}

TEST_CASE("long statements and short, of every number of operands up to twelve") {
  Tape tape;
  const std::vector<Scalar> x = scalars({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const Scalar twelve = x[0] * 2 + x[1] * 3 + x[2] * 4 + x[3] * 5 + x[4] * 6 + x[5] * 7 + x[6] * 8 +
                        x[7] * 9 + x[8] * 10 + x[9] * 11 + x[10] * 12 + x[11] * 13;
  const Scalar seven = twelve + x[0] + x[1] + x[2] + x[3] + x[4] + x[5];
  const Scalar three_numbers = 2 * (seven * 3 + 4);
  tape.backward(three_numbers);
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(x[i].grad() == 6 * (static_cast<double>(i) + 2 + (i < 6 ? 1 : 0)));
}
