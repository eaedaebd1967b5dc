#include "tests/inspect/calculator.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace pencil::tests {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
using Row = std::vector<Range>;

// A unit of the last of so many digits.
double unit(double x, int digits) {
  if (x == 0 || !std::isfinite(x)) return 0;
  return std::pow(10.0, std::floor(std::log10(std::abs(x))) - digits + 1);
}

class Calculator {
 public:
  Calculator(std::string_view text, const Precision& precision) : text_(text), precision_(precision) {}

  Row whole() {
    const Row row = sum();
    skip();
    if (!text_.empty()) stop("the end");
    return row;
  }

 private:
  [[noreturn]] void stop(const std::string& wanted) const {
    throw std::runtime_error("need " + wanted + " before \"" + std::string(text_) + "\"");
  }
  void skip() { text_.remove_prefix(std::min(text_.find_first_not_of(' '), text_.size())); }
  bool next(std::string_view word) {
    skip();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void need(std::string_view word) {
    if (!next(word)) stop(std::string(word));
  }

  // Number by number; a single one goes with every one of a row.
  static Row each(const Row& a, const Row& b, const std::function<Range(Range, Range)>& f) {
    Row out(a.size() == 1 ? b.size() : b.size() == 1 ? a.size() : std::min(a.size(), b.size()));
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = f(a.size() == 1 ? a[0] : a[i], b.size() == 1 ? b[0] : b[i]);
    return out;
  }
  static Row each(const Row& a, const std::function<Range(Range)>& f) {
    Row out;
    for (const Range& x : a) out.push_back(f(x));
    return out;
  }
  // Widened by what an operation rounds away.
  Range rounded(Range x, double relative = 0) const {
    const double most = std::max(std::abs(x.low), std::abs(x.high));
    const double slack = precision_.absolute + (std::isfinite(most) ? most * (relative + 1e-14) : 0);
    return {x.low - slack, x.high + slack};
  }
  // From the values at the ends; NaN where one of them is.
  Range around(std::initializer_list<double> ends, double relative = 0) const {
    if (std::any_of(ends.begin(), ends.end(), [](double x) { return std::isnan(x); })) return {nan, nan};
    return rounded({std::min(ends), std::max(ends)}, relative);
  }
  Range rising(Range x, double (*f)(double), double relative = 0) const {
    return around({f(x.low), f(x.high)}, relative);
  }

  Range times(Range a, Range b) const {
    return around({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
  }
  Range over(Range a, Range b) const {
    if (b.low < 0 && b.high > 0) return {-infinity, infinity};
    return around({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  }
  Range power(Range a, Range b) const {
    if (a.low < 0 && a.high > 0 && b.low == 2 && b.high == 2)
      return rounded({0, std::max(a.low * a.low, a.high * a.high)});
    return around(
        {std::pow(a.low, b.low), std::pow(a.low, b.high), std::pow(a.high, b.low), std::pow(a.high, b.high)});
  }

  // sum := product (("+" | "-") product)*
  Row sum() {
    Row row = product();
    while (true) {
      if (next("+"))
        row = each(row, product(), [&](Range a, Range b) {
          return around({a.low + b.low, a.high + b.high});
        });
      else if (next("-"))
        row = each(row, product(), [&](Range a, Range b) {
          return around({a.low - b.high, a.high - b.low});
        });
      else
        return row;
    }
  }
  // product := signed (("*" | "/") signed)*
  Row product() {
    Row row = with_sign();
    while (true) {
      if (next("*"))
        row = each(row, with_sign(), [&](Range a, Range b) { return times(a, b); });
      else if (next("/"))
        row = each(row, with_sign(), [&](Range a, Range b) { return over(a, b); });
      else
        return row;
    }
  }
  // signed := "-" signed | atom ["^" atom]
  Row with_sign() {
    if (next("-")) return each(with_sign(), [](Range x) { return Range{-x.high, -x.low}; });
    skip();
    const bool e = text_.starts_with("e^");
    if (e) text_.remove_prefix(1);
    const Row base = e ? Row{{std::exp(1.0), std::exp(1.0)}} : atom();
    if (!next("^")) return base;
    const Row exponent = atom();
    if (e)
      return each(exponent, [&](Range x) {
        return around({std::exp(x.low), std::exp(x.high)}, precision_.blown);
      });
    return each(base, exponent, [&](Range a, Range b) { return power(a, b); });
  }
  Row atom() {
    if (next("(")) {
      const Row row = sum();
      need(")");
      return row;
    }
    if (next("[")) {
      Row row;
      while (!next("]")) {
        if (!row.empty()) need(",");
        if (next("…")) {
          number();
          need("more");
          continue;
        }
        row.push_back(number_with_sign());
      }
      return row;
    }
    if (next("…")) {  // what is left out of a sum
      number();
      need("more");
      if (!next("terms that sum to")) stop("terms that sum to");
      return with_sign();
    }
    skip();
    if (!text_.empty() && std::isalpha(static_cast<unsigned char>(text_[0])) && !text_.starts_with("inf") &&
        !text_.starts_with("nan"))
      return function();
    return {number()};
  }

  Row function() {
    const std::size_t end = text_.find('(');
    const std::string name(text_.substr(0, end));
    text_.remove_prefix(std::min(text_.size(), end + 1));
    if (end == std::string_view::npos) stop("a function");
    std::vector<Row> x;
    while (!next(")")) {
      if (!x.empty()) need(",");
      if (next("…")) {
        number();
        need("more, the");
        need(name);
        need("of them");
      }
      x.push_back(sum());
    }
    if (name == "max" || name == "min") {
      Row row = x[0];
      for (const Row& other : x)
        row = each(row, other, [&](Range a, Range b) {
          if (a.low != a.low || b.low != b.low) return Range{nan, nan};
          return name == "max" ? Range{std::max(a.low, b.low), std::max(a.high, b.high)}
                               : Range{std::min(a.low, b.low), std::min(a.high, b.high)};
        });
      return row;
    }
    if (name == "argmax") {
      Row best(x[0].size());
      for (std::size_t i = 0; i < best.size(); ++i) {
        std::size_t first = 0;
        for (std::size_t k = 0; k < x.size(); ++k)
          if (x[k][i].low > x[first][i].low) first = k;
        best[i] = {static_cast<double>(first), static_cast<double>(first)};
      }
      return best;
    }
    if (x.size() != 1) stop("one argument of " + name);
    return each(x[0], [&](Range a) { return of_one(name, a); });
  }

  Range of_one(const std::string& name, Range x) const {
    if (name == "log")
      return x.low < 0 && x.high >= 0 ? Range{-infinity, std::log(x.high)} : rising(x, std::log);
    if (name == "sqrt") return x.low < 0 && x.high >= 0 ? Range{0, std::sqrt(x.high)} : rising(x, std::sqrt);
    if (name == "tanh") return rising(x, std::tanh);
    if (name == "erf") return rising(x, std::erf);
    if (name == "trunc") return {std::trunc(x.low), std::trunc(x.high)};
    if (name == "abs") {
      const double a = std::abs(x.low), b = std::abs(x.high);
      return {x.low < 0 && x.high > 0 ? 0 : std::min(a, b), std::max(a, b)};
    }
    if (name != "sin" && name != "cos") stop("a function, not " + name);
    const double middle = 0.5 * (x.low + x.high), half = 0.5 * (x.high - x.low);  // they rise by 1 at most
    const double y = name == "sin" ? std::sin(middle) : std::cos(middle);
    return rounded({y - half, y + half});
  }

  Range number_with_sign() {
    if (!next("-")) return number();
    const Range x = number();
    return {-x.high, -x.low};
  }
  Range number() {
    skip();
    if (next("nan")) return {nan, nan};
    if (next("inf")) return {infinity, infinity};
    std::size_t end = 0, digits = 0;
    bool leading = true;
    while (end < text_.size() &&
           (std::isdigit(static_cast<unsigned char>(text_[end])) || text_[end] == '.')) {
      leading = leading && (text_[end] == '0' || text_[end] == '.');
      digits += text_[end] != '.' && !leading;
      ++end;
    }
    if (end == 0) stop("a number");
    const std::size_t point = text_.substr(0, end).find('.');
    auto decimals = point == std::string_view::npos ? 0 : static_cast<double>(end - point - 1);
    if (end + 1 < text_.size() && text_[end] == 'e' && (text_[end + 1] == '-' || text_[end + 1] == '+')) {
      decimals -= std::atoi(std::string(text_.substr(end + 1)).c_str());
      end += 2;
      while (end < text_.size() && std::isdigit(static_cast<unsigned char>(text_[end]))) ++end;
    }
    const double x = std::strtod(std::string(text_.substr(0, end)).c_str(), nullptr);
    text_.remove_prefix(end);
    const bool whole = decimals == 0 && point == std::string_view::npos;  // and so exact
    double half = whole ? 0 : x * precision_.relative + precision_.absolute;
    if (digits >= static_cast<std::size_t>(precision_.digits)) half += 0.5 * std::pow(10.0, -decimals);
    return {x - half, x + half};
  }

  std::string_view text_;
  const Precision& precision_;
};

void check_comparison(const std::string& text, const Precision& precision) {
  for (const std::string_view sign : {" <= ", " >= ", " == ", " != ", " < ", " > "}) {
    const std::size_t at = text.find(sign);
    if (at == std::string::npos) continue;
    const Row left = Calculator(std::string_view(text).substr(0, at), precision).whole();
    const Row right = Calculator(std::string_view(text).substr(at + sign.size()), precision).whole();
    for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
      const Range a = left[left.size() == 1 ? 0 : i], b = right[right.size() == 1 ? 0 : i];
      const bool equal = a.low <= b.high && b.low <= a.high;
      const bool holds = sign == " <= "   ? a.low <= b.high
                         : sign == " >= " ? a.high >= b.low
                         : sign == " == " ? equal
                         : sign == " != " ? !equal || a.low < a.high || b.low < b.high
                         : sign == " < "  ? a.low < b.high || (equal && a.low < a.high)
                                          : a.high > b.low || (equal && a.low < a.high);
      if (!holds) throw std::runtime_error("it does not hold that " + text);
    }
    return;
  }
  throw std::runtime_error("no comparison: " + text);
}

// Cuts off what stands behind a mark.
std::string cut(std::string& text, const std::string& mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) return "";
  std::string behind = text.substr(at + mark.size());
  text.resize(at);
  return behind;
}

}  // namespace

Checked evaluated(const std::string& line, const Precision& precision) {
  std::string text = line;
  std::string tape = cut(text, " (in f");
  if (!tape.empty()) tape = tape.substr(4, tape.size() - 5);  // "32: 0.3)"
  for (std::string reasons = cut(text, ", for "); !reasons.empty();) {
    const std::string more = cut(reasons, " and ");
    check_comparison(reasons, precision);
    reasons = more;
  }
  const std::string printed = cut(text, " = ");
  Checked checked{text, Calculator(text, precision).whole(), {}, {}};
  checked.printed = printed.empty() ? checked.worked : Calculator(printed, precision).whole();
  if (!tape.empty()) checked.tape = Calculator(tape, precision).whole();
  return checked;
}

bool agrees(const Checked& checked, const Precision& precision) {
  if (checked.printed.empty()) return false;
  for (std::size_t i = 0; i < checked.printed.size(); ++i) {
    const Range worked = checked.worked[checked.worked.size() == 1 ? 0 : i], shown = checked.printed[i];
    if (shown.low != shown.low || worked.low != worked.low) {
      if ((shown.low != shown.low) != (worked.low != worked.low)) return false;
      continue;
    }
    // The printed number may be one off in its last digit.
    const double slack = unit(std::max(std::abs(shown.low), std::abs(shown.high)), precision.digits);
    if (worked.low > shown.high + slack || worked.high < shown.low - slack) return false;
  }
  return true;
}

}  // namespace pencil::tests
