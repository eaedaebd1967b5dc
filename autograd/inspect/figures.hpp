#pragma once

// Numbers as an explanation writes them down: with a pen, or rounded after every step as with a pencil.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "autograd/inspect/written.hpp"

namespace pencil::inspect {

/// A number on the page.
struct Figure {
  double value = 0;
  DType dtype = f64;
  bool blown = false;    // up by e, or a total of such: kept to four digits instead of three places
  bool rounded = false;  // by the pencil, so that zeros at its end say something
};

/// What writes: a pen keeps every number, and shows so many digits of it. A pencil keeps blown-up numbers and
/// their total to four significant digits and every other number to three places, and reckons on with those.
struct Hand {
  bool pencil = false;
  int digits = 6;

  /// A number that was read, or one that was worked out.
  Figure figure(double value, DType dtype, bool blown = false) const;
  std::string text(const Figure& x) const;
};

/// One number, or those of a row in brackets; `more` of them are not shown.
std::string row_text(const Hand& hand, std::span<const Figure> figures, bool brackets, std::int64_t more);

/// The figures of a line's column, a token each. `given` says what stands for a number of an input, `earlier`
/// for the result of an earlier line.
std::vector<Figure> figures_of(const Line& line, std::size_t column, const Hand& hand,
                               const std::function<Figure(const Token&)>& given,
                               const std::function<Figure(int line)>& earlier);

}  // namespace pencil::inspect
