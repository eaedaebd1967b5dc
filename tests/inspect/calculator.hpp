// A pocket calculator for what `explain` prints. It knows how precise the printed numbers are, and so how
// precise its result can be.
#pragma once

#include <string>
#include <vector>

namespace pencil::tests {

/// All numbers that a printed one may stand for.
struct Range {
  double low = 0, high = 0;
  bool holds(double x) const { return x != x ? low != low : low <= x && x <= high; }
};

struct Precision {
  int digits = 6;       // numbers of so many digits, and of more, are rounded …
  double relative = 0;  // and those of fewer may be off by so much of themselves: 0 in f64
  double absolute = 0;  // what every operation may be rounded by: half of 0.001 with the pencil
  double blown = 0;     // and e^x, relatively
};

/// What stands before the equals sign of a line, evaluated, and behind it. A row has several numbers; of a
/// shortened one those that are printed.
struct Checked {
  std::string expression;
  std::vector<Range> worked;
  std::vector<Range> printed;  // without an equals sign: the same
  std::vector<Range> tape;     // "(in f32: 0.3)"
};

/// Evaluates a line of arithmetic, "2*3 + 0*0 = 6, for 6 > 0", and the comparisons behind it. Throws
/// std::runtime_error where it cannot be read or a comparison does not hold.
Checked evaluated(const std::string& line, const Precision& precision);

/// Whether what is printed is what the arithmetic comes to, as far as the digits printed say.
bool agrees(const Checked& checked, const Precision& precision);

}  // namespace pencil::tests
