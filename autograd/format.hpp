#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "autograd/tensor.hpp"

namespace pencil {

/// Appends a number as printed tapes show it: the same bytes on every machine and in every locale. A number
/// of at most four digits is printed whole (`2`, `0.5`, `-0.045`), any other rounded to four with the zeros
/// at its end kept, so that `1.000` is nearly 1 and `1` is 1. Whole numbers below 10,000,000 keep all digits;
/// `1234.6` from a thousand on, `1.235e+07` beyond a million and `1.235e-05` below 0.0001. NaN is `nan`,
/// infinities `inf` and `-inf`, and −0 is `0`. The digits may be others than four, at most 17.
void append_number(std::string& to, double x, int digits = 4);
void append_number(std::string& to, float x, int digits = 4);
void append_number(std::string& to, std::int32_t x);
std::string number_text(double x);

/// A number as a person with a pencil keeps it: rounded to so many places after the point, or to so many
/// significant digits, halves away from zero. NaN and infinities stay.
double rounded_to_places(double x, int places);
double rounded_to_digits(double x, int digits);

struct ArrayFormat {
  int decimals = -1;  // digits after the point at most; −1: four, or powers of ten where four hide it
  std::int64_t whole = 1000;  // tensors of more numbers show the ends of each axis only
  std::int64_t ends = 3;      // how many at each end
  int width = 80;             // where rows break
};

/// A tensor's numbers in nested brackets, laid out as NumPy prints an array:
///     [[1.   0.   0.  ]
///      [0.   0.05 0.95]]
/// (−0 is printed as 0.) "(no tensor)" for a default-made one.
std::string to_string(const Tensor& x, const ArrayFormat& format = {});

}  // namespace pencil

/// "{}" prints a tensor as to_string does; "{:.3}" with at most three digits after the point.
template <>
struct fmt::formatter<pencil::Tensor> {
  constexpr auto parse(fmt::format_parse_context& context) {
    auto at = context.begin();
    if (at != context.end() && *at == '.') {
      decimals = 0;
      for (++at; at != context.end() && *at >= '0' && *at <= '9' && decimals < 100; ++at)
        decimals = 10 * decimals + (*at - '0');
    }
    if (at != context.end() && *at != '}') throw pencil::Error("[format] a tensor is printed by {} or {:.3}");
    return at;
  }
  auto format(const pencil::Tensor& x, fmt::format_context& context) const {
    const std::string text = pencil::to_string(x, {.decimals = decimals});
    return std::copy(text.begin(), text.end(), context.out());
  }

  int decimals = -1;
};
