#include <cmath>
#include <limits>

#include "autograd/autograd.hpp"
#include "tests/catch.hpp"

using namespace pencil;

namespace {
constexpr double inf = std::numeric_limits<double>::infinity();
}

TEST_CASE("a number of at most four digits is printed whole, any other rounded with its zeros kept") {
  CHECK(number_text(0) == "0");
  CHECK(number_text(-0.0) == "0");
  CHECK(number_text(1) == "1");
  CHECK(number_text(-45) == "-45");
  CHECK(number_text(0.5) == "0.5");
  CHECK(number_text(-0.045) == "-0.045");
  CHECK(number_text(std::exp(1.0)) == "2.718");
  CHECK(number_text(std::exp(4.0)) == "54.60");
  CHECK(number_text(0.99999) == "1.000");
  CHECK(number_text(1.0 / 3) == "0.3333");
  CHECK(number_text(99.996) == "100.0");
  CHECK(number_text(1234.56) == "1234.6");
  CHECK(number_text(123456.78) == "123456.8");
  CHECK(number_text(999999.96) == "1.000e+06");
  CHECK(number_text(329097) == "329097");
  CHECK(number_text(9999999) == "9999999");
  CHECK(number_text(12345678) == "1.235e+07");
  CHECK(number_text(2e7) == "2e+07");
  CHECK(number_text(0.00012346) == "0.0001235");
  CHECK(number_text(0.000012346) == "1.235e-05");
  CHECK(number_text(1e-7) == "1e-07");
  CHECK(number_text(5e-324) == "5e-324");
  CHECK(number_text(std::numeric_limits<double>::max()) == "1.798e+308");
  CHECK(number_text(inf) == "inf");
  CHECK(number_text(-inf) == "-inf");
  CHECK(number_text(std::nan("")) == "nan");
}

TEST_CASE("a float is printed by its own digits, not by those of the double it becomes") {
  std::string text;
  append_number(text, 0.1f);
  append_number(text, std::numeric_limits<std::int32_t>::min());
  CHECK(text == "0.1-2147483648");
}

TEST_CASE("a pencil rounds to places or to significant digits") {
  CHECK(rounded_to_places(0.0474258732, 3) == 0.047);
  CHECK(rounded_to_places(-0.0005, 3) == -0.001);
  CHECK(rounded_to_places(1.25e300, 3) == 1.25e300);
  CHECK(rounded_to_places(1250, -2) == 1300);
  CHECK(rounded_to_places(inf, 3) == inf);
  CHECK(std::isnan(rounded_to_places(std::nan(""), 3)));
  CHECK(rounded_to_digits(std::exp(1.0), 4) == 2.718);
  CHECK(rounded_to_digits(std::exp(4.0), 4) == 54.6);
  CHECK(rounded_to_digits(2.718 + 54.6, 4) == 57.32);
  CHECK(rounded_to_digits(-123456, 4) == -123500);
  CHECK(rounded_to_digits(0, 4) == 0);
  CHECK(rounded_to_digits(1000, 4) == 1000);
  CHECK(rounded_to_digits(-inf, 4) == -inf);
}

TEST_CASE("tensors are printed in nested brackets, points above each other") {
  CHECK(to_string(tensor({2, 0, 1, 0})) == "[2. 0. 1. 0.]");
  CHECK(to_string(tensor({{1, 0, 0}, {0, 0.05, 0.95}})) ==
        "[[1.   0.   0.  ]\n"
        " [0.   0.05 0.95]]");
  CHECK(to_string(tensor({3.09, -0.03})) == "[ 3.09 -0.03]");
  CHECK(to_string(tensor({3, -12}, i32)) == "[  3 -12]");
  CHECK(to_string(tensor(0.25)) == "0.25");
  CHECK(to_string(tensor({{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}, i32)) ==
        "[[[1 2]\n"
        "  [3 4]]\n"
        "\n"
        " [[5 6]\n"
        "  [7 8]]]");
  CHECK(to_string(zeros({0, 3})) == "[]");
  CHECK(to_string(zeros({2, 0})) == "[[]\n []]");
  CHECK(to_string(Tensor()) == "(no tensor)");
  CHECK(to_string(tensor({1, std::nan(""), inf, -inf, 0.125}, f64)) == "[1.      nan   inf  -inf 0.125]");
  CHECK(to_string(tensor({std::nan(""), inf})) == "[nan inf]");
}

TEST_CASE("digits after the point can be chosen, and nothing is printed as a negative zero") {
  const Tensor x = tensor({0.0948517464, 2.8577223805, -0.0000001, 1e-9}, f64);
  CHECK(fmt::format("{:.3}", x) == "[0.095 2.858 0.    0.   ]");
  CHECK(fmt::format("{:.0}", x) == "[0. 3. 0. 0.]");
  CHECK(fmt::format("{}", tensor({1e-9, 2}, f64)) == "[1.0000e-09 2.0000e+00]");
  CHECK(fmt::format("{}", tensor({1e9, 2}, f64)) == "[1.0000e+09 2.0000e+00]");
}

TEST_CASE("long rows break and large tensors show their ends") {
  CHECK(to_string(arange(12, i32), {.width = 16}) ==
        "[ 0  1  2  3  4\n"
        "  5  6  7  8  9\n"
        " 10 11]");
  CHECK(to_string(arange(1001, i32)) == "[   0    1    2 ...  998  999 1000]");
  CHECK(to_string(zeros({2000, 2}, i32)) ==
        "[[0 0]\n"
        " [0 0]\n"
        " [0 0]\n"
        " ...\n"
        " [0 0]\n"
        " [0 0]\n"
        " [0 0]]");
}
