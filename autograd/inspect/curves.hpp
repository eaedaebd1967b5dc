#pragma once

#include <span>
#include <string>
#include <vector>

namespace pencil {

/// One line of a chart: y over x, in the order given. A number that is not finite leaves a gap.
struct Curve {
  std::string name;
  std::vector<double> x, y;
};

/// Curves over the same axes: losses, or accuracies.
struct Chart {
  std::string title;
  std::string x = "", y = "";  // what the axes are
  std::vector<Curve> curves;
};

/// The chart as an SVG picture: axes with round numbers, a line and its name for each curve, each value as a
/// dot with its number. Light or dark as the reader has it; no font or file is fetched. Throws Error for a
/// curve with more x than y, or fewer.
std::string curves_svg(const Chart& chart);

}  // namespace pencil
