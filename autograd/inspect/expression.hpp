#pragma once

// The text of worked arithmetic: "0.047*[2, 0] + 0.953*[0, 3] = [0.094, 2.859]".

#include <string>
#include <vector>

#include "autograd/inspect/figures.hpp"
#include "autograd/inspect/written.hpp"

namespace pencil::inspect {

/// A page's lines in figures and in text.
struct WrittenLines {
  std::vector<std::string> text;             // a line each
  std::vector<std::vector<Figure>> results;  // of each line, a column each
};

/// Writes a page down. `given` says what stands for a number of an input; `more` is how many further numbers
/// the row has that are not worked out.
///
/// The notation can be evaluated: + − * / and ^ with the usual precedence (−a^b is −(a^b)), e^x, log
/// (natural), sqrt, sin, cos, tanh, erf, abs, max, min, trunc, argmax (counted from 0); a row stands in
/// brackets and is computed number by number; `… 92 more terms that sum to 1.5` stands for a number. Behind
/// the result stand the comparisons that chose a branch, ", for 3 > 0", and where the tape's own number is
/// another in the last digit shown, "(in f32: 0.3)".
WrittenLines written_down(const Working& page, const Hand& hand,
                          const std::function<Figure(const Token&)>& given, std::int64_t more = 0);

}  // namespace pencil::inspect
