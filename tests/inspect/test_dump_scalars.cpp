// Scalar statements in a printed tape.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;

TEST_CASE("scalar statements are printed as arithmetic, with value and blame") {
  Tape tape;
  const std::vector<Scalar> s = scalars({2, 1, 1}, {"a", "b", "c"});
  const Scalar z = named(s[0] * s[1] + exp(s[2]), "z");
  tape.backward(z);
  CHECK(dump(tape) ==
        "tape: 1 step, 0 parameters, 4 scalars, f64, backward from step 0\n"
        "#  word     name  shape  from  value                     BLAME\n"
        "0  scalars                     a = 2                     1\n"
        "                               b = 1                     2\n"
        "                               c = 1                     2.718\n"
        "                               z = a*b + exp(c) = 4.718  1\n");
}

TEST_CASE("what Scalars print: signs, brackets, numbers, functions, constants, ranges") {
  Tape tape;
  const std::vector<Scalar> x = scalars({2, 3}, "x");
  const std::vector<Scalar> many = scalars({1, 2, 3, 4, 5, 6, 7});
  const Scalar half = 0.5;
  std::vector<std::string> expected;
  const std::size_t first = ScalarStatements(tape).size();
  const auto expect = [&](const Scalar&, const char* text) { expected.emplace_back(text); };
  expect(x[0] - (x[1] - 1), "s9 = x[0] - (x[1] - 1) = 0");
  expect((x[0] - x[1]) * 2, "s10 = (x[0] - x[1])*2 = -2");
  expect(x[0] / (x[1] * x[0]), "s11 = x[0]/(x[1]*x[0]) = 0.3333");
  expect(-x[0] * x[1], "s12 = (-x[0])*x[1] = -6");
  expect(-(x[0] + x[1]), "s13 = -(x[0] + x[1]) = -5");
  expect(x[0] * -2.5, "s14 = x[0]*(-2.5) = -5");
  expect(pow(x[0], 3) + hypot(x[0], 0), "s15 = pow(x[0], 3) + hypot(x[0], 0) = 10");
  expect(half * x[0], "s16 = 0.5*x[0] = 1");
  expect(max(log(x[0] / 2), x[1]), "s17 = max(log(x[0]/2), x[1]) = 3");
  expect(sum(x), "s18 = sum(x[0], x[1]) = 5");
  expect(mean(many), "s19 = mean(s2, s3, s4, … 4 more) = 4");
  expect(dot(x, x), "s20 = dot([x[0], x[1]], [x[0], x[1]]) = 13");
  expect(log_sum_exp(std::vector<Scalar>{x[0]}), "s21 = log_sum_exp(x[0]) = 2");
  const ScalarStatements all(tape);
  REQUIRE(all.size() == first + expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) CHECK(all.text(first + i) == expected[i]);
}

TEST_CASE("tensors and Scalars appear in order, and say where they come from") {
  const Tensor w = parameter(tensor({2, 3}, f64), "w");
  Tape tape;
  const Tensor y = square(w);
  const std::vector<Scalar> part = unstack(y);
  const Scalar z = named(part[0] * part[1], "z");
  const Tensor both = stack({z, part[0]});
  const Tensor loss = sum(both);
  tape.backward(loss);
  (void)Scalar(z * 2);
  CHECK(dump(tape) ==
        "tape: 5 steps, 1 parameter, 4 scalars, f64, backward from step 3\n"
        "#  word     name  shape  from  value           BLAME\n"
        "0  dial     w     (2)          [2 3]           [40 24]\n"
        "1  square         (2)    0     [4 9]           [10 4]\n"
        "2  scalars        (2)    1     s0 = #1[0] = 4  10\n"
        "                               s1 = #1[1] = 9  4\n"
        "                               z = s0*s1 = 36  1\n"
        "                               stack(z, s0)\n"
        "3  sum            ()     2     40              1\n"
        "4  scalars               2     s3 = z*2 = 72   none came\n");
}

TEST_CASE("before backward there is no blame yet; looking changes nothing") {
  Tape tape;
  const std::vector<Scalar> x = scalars({2});
  const std::string before = dump(tape);
  CHECK(before ==
        "tape: 1 step, 0 parameters, 1 scalar, f64, no backward yet\n"
        "#  word     name  shape  from  value   BLAME\n"
        "0  scalars                     s0 = 2  no blame yet\n");
  const Scalar y = x[0] * x[0];
  (void)dump(tape);
  tape.backward(y);
  CHECK(x[0].grad() == 4);
  CHECK(tape.size() == 1);
}

TEST_CASE("a long run is printed whole, and its columns stand straight") {
  Tape tape;
  const std::vector<Scalar> x = scalars({1}, {"x"});
  Scalar total = x[0];
  for (int i = 0; i < 3000; ++i) total += x[0];
  tape.backward(total);
  const std::string text = dump(tape);
  CHECK(std::ranges::count(text, '\n') == 3003);
  CHECK(text.find("s3000 = s2999 + x = 3001") != std::string::npos);
}

TEST_CASE("the other inspectors pass Scalars by") {
  const Tensor w = parameter(tensor({2, 3}, f64), "w");
  Tape tape;
  const std::vector<Scalar> part = unstack(square(w));
  const Tensor loss = sum(stack({part[0] * part[1], part[0]}));
  tape.backward(loss);
  CHECK(verify(tape).ok());
  CHECK(dot(tape).find("scalars") != std::string::npos);
  CHECK(svg(tape).find("scalars") != std::string::npos);
  const auto json = nlohmann::json::parse(dump_json(tape));
  CHECK(json["lines"][2]["statements"][2]["formula"] == "s0*s1");
  CHECK(json["lines"][2]["output"] == "stack(s2, s0)");
}
