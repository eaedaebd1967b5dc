#include "autograd/inspect/curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "autograd/error.hpp"
#include "autograd/format.hpp"
#include "autograd/inspect/markup.hpp"

namespace pencil {

namespace {

using inspect::append_xml;
using inspect::plain;

constexpr double width = 560, height = 320;                      // of the whole picture
constexpr double left = 64, right = 132, top = 54, bottom = 48;  // around the axes
constexpr std::size_t colours = 6;
constexpr std::size_t most_dots = 60;  // a curve of more values is a line only

constexpr std::string_view style = R"(<style>
.chart { background: #fbfbf9; font: 12px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; }
.chart text { fill: #4b5661; }
.chart .title { font-size: 14px; font-weight: 600; fill: #1f2933; }
.chart .grid { stroke: #34526b; stroke-opacity: .14; }
.chart .curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
.chart .name { font-weight: 600; }
.chart .c0 { stroke: #2f5d8a; } .chart .c1 { stroke: #b9770e; } .chart .c2 { stroke: #3c7d4f; }
.chart .c3 { stroke: #a23b3b; } .chart .c4 { stroke: #6f4e9c; } .chart .c5 { stroke: #66727e; }
.chart circle { fill: #fbfbf9; stroke-width: 2; }
@media (prefers-color-scheme: dark) {
  .chart { background: #16191d; }
  .chart text { fill: #b8c1cb; }
  .chart .title { fill: #e4e7eb; }
  .chart .grid { stroke: #9fb3c8; }
  .chart .c0 { stroke: #7fb0e0; } .chart .c1 { stroke: #e3a84a; } .chart .c2 { stroke: #7cc492; }
  .chart .c3 { stroke: #e58a8a; } .chart .c4 { stroke: #b79be0; } .chart .c5 { stroke: #9aa5b1; }
  .chart circle { fill: #16191d; }
}
</style>
)";

// A stretch of numbers and the round ones to mark in it.
struct Axis {
  double low = 0, high = 1, step = 0.5;

  // `whole`: only whole numbers are marked, as suits epochs.
  Axis(double least, double largest, bool whole) {
    if (least > largest) return;  // no numbers at all
    if (least == largest) {
      const double around = least == 0 ? 1 : std::abs(least) / 2;
      least -= around;
      largest += around;
    }
    const double rough = (largest - least) / 5, power = std::pow(10, std::floor(std::log10(rough)));
    step = 10 * power;
    for (const double round : {1.0, 2.0, 5.0})
      if (rough <= round * power * (1 + 1e-9)) {
        step = round * power;
        break;
      }
    if (whole) step = std::max(1.0, std::round(step));
    low = std::floor(least / step) * step;
    high = std::ceil(largest / step) * step;
  }
  // Where a number lies between the ends, 0 to 1.
  double share(double number) const { return (number - low) / (high - low); }
  int marks() const { return static_cast<int>(std::lround((high - low) / step)) + 1; }
  double mark(int i) const {
    const double times = std::round(low / step) + i;
    return step < 1 ? times / std::round(1 / step) : times * step;  // 3 / 10 is 0.3, and 3 · 0.1 is not
  }
};

class Picture {
 public:
  explicit Picture(const Chart& chart)
      : chart_(chart), x_(axis(&Curve::x, true)), y_(axis(&Curve::y, false)) {}

  std::string text() {
    text_ = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" width=\"{0}\" height=\"{1}\" viewBox=\"0 "
        "0 {0} "
        "{1}\">\n",
        width, height);
    text_ += style;
    write(10, 20, "start", "title", plain(chart_.title));
    write(width - right, height - 10, "end", "", plain(chart_.x));
    write(10, 40, "start", "", plain(chart_.y));
    for (int i = 0; i < x_.marks(); ++i) mark_x(x_.mark(i));
    for (int i = 0; i < y_.marks(); ++i) mark_y(y_.mark(i));
    for (std::size_t i = 0; i < chart_.curves.size(); ++i) draw(chart_.curves[i], i % colours);
    write_names();
    return std::move(text_) + "</svg>\n";
  }

 private:
  Axis axis(std::vector<double> Curve::*numbers, bool may_be_whole) const {
    double least = std::numeric_limits<double>::infinity(), largest = -least;
    bool whole = may_be_whole;
    for (const Curve& curve : chart_.curves)
      for (const double number : curve.*numbers) {
        if (!std::isfinite(number)) continue;
        least = std::min(least, number);
        largest = std::max(largest, number);
        whole = whole && number == std::round(number);
      }
    return {least, largest, whole};
  }

  double at_x(double x) const { return left + x_.share(x) * (width - left - right); }
  double at_y(double y) const { return height - bottom - y_.share(y) * (height - top - bottom); }

  void write(double x, double y, std::string_view anchor, std::string_view kind, std::string_view text) {
    if (text.empty()) return;
    text_ +=
        fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">", kind, x, y, anchor);
    append_xml(text_, text);
    text_ += "</text>\n";
  }

  void line(double x1, double y1, double x2, double y2) {
    text_ += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f} L{:.1f} {:.1f}\"/>\n", x1, y1, x2, y2);
  }
  void mark_x(double x) {
    line(at_x(x), top, at_x(x), height - bottom);
    write(at_x(x), height - bottom + 16, "middle", "", number_text(x));
  }
  void mark_y(double y) {
    line(left, at_y(y), width - right, at_y(y));
    write(left - 8, at_y(y) + 4, "end", "", number_text(y));
  }

  static bool finite(const Curve& curve, std::size_t i) {
    return std::isfinite(curve.x[i]) && std::isfinite(curve.y[i]);
  }

  void draw(const Curve& curve, std::size_t colour) {
    text_ += fmt::format("<path class=\"curve c{}\" d=\"", colour);
    bool pen_down = false;
    for (std::size_t i = 0; i < curve.x.size(); ++i) {
      if (finite(curve, i))
        text_ += fmt::format("{}{:.1f} {:.1f}", pen_down ? " L" : " M", at_x(curve.x[i]), at_y(curve.y[i]));
      pen_down = finite(curve, i);
    }
    text_ += "\"/>\n";
    for (std::size_t i = 0; i < curve.x.size() && curve.x.size() <= most_dots; ++i) {
      if (!finite(curve, i)) continue;
      text_ += fmt::format("<circle class=\"c{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"><title>", colour,
                           at_x(curve.x[i]), at_y(curve.y[i]));
      append_xml(text_, plain(curve.name));
      text_ += fmt::format(" {}: {}</title></circle>\n", number_text(curve.x[i]), number_text(curve.y[i]));
    }
  }

  // Beside the last value of each curve, moved apart where they would cover each other.
  void write_names() {
    constexpr double apart = 15;
    std::vector<std::pair<double, std::size_t>> names;
    for (std::size_t i = 0; i < chart_.curves.size(); ++i) {
      const Curve& curve = chart_.curves[i];
      for (std::size_t k = curve.x.size(); k-- > 0;) {
        if (!finite(curve, k)) continue;
        names.emplace_back(at_y(curve.y[k]), i);
        break;
      }
    }
    std::ranges::sort(names);
    double next = top;
    for (const auto& [y, i] : names) {
      next = std::max(next, y);
      const double x = width - right + 12;
      text_ += fmt::format("<path class=\"curve c{}\" d=\"M{:.1f} {:.1f} h14\"/>\n", i % colours, x, next);
      write(x + 20, next + 4, "start", "name", inspect::shortened(chart_.curves[i].name, 16));
      next += apart;
    }
  }

  const Chart& chart_;
  Axis x_, y_;
  std::string text_;
};

}  // namespace

std::string curves_svg(const Chart& chart) {
  for (const Curve& curve : chart.curves)
    if (curve.x.size() != curve.y.size())
      fail("[curves_svg] curve '{}' has {} x and {} y; need as many of each", curve.name, curve.x.size(),
           curve.y.size());
  return Picture(chart).text();
}

}  // namespace pencil
