#include "autograd/inspect/figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/format.hpp"

namespace pencil::inspect {

namespace {

using Kind = Token::Kind;

constexpr int places = 3, blown_digits = 4;

// The operands of a token, and what they come to by its kind.
struct Work {
  const Token& token;
  std::span<const Figure> x;

  bool all_blown() const {
    return !x.empty() && x.front().blown && std::ranges::all_of(x, [](const Figure& f) { return f.blown; });
  }
  double value() const {
    switch (token.kind) {
      case Kind::negative:
        return -x[0].value;
      case Kind::sum: {
        double total = 0;
        for (const Figure& f : x) total += f.value;
        return total;
      }
      case Kind::difference:
        return x[0].value - x[1].value;
      case Kind::product: {
        double product = 1;
        for (const Figure& f : x) product *= f.value;
        return product;
      }
      case Kind::quotient:
        return x[0].value / x[1].value;
      case Kind::call: {
        std::vector<double> values;
        for (const Figure& f : x) values.push_back(f.value);
        const double y = detail::called(token.function, values);
        return std::isnan(y) ? token.value : y;
      }
      default:
        return token.value;
    }
  }
};

}  // namespace

Figure Hand::figure(double value, DType dtype, bool blown) const {
  if (!pencil || dtype == i32) return {value, dtype, blown};
  const double kept = blown ? rounded_to_digits(value, blown_digits) : rounded_to_places(value, places);
  const double exact = dtype == f32 ? 1e-6 : 1e-12;
  const bool rounded = std::abs(kept - value) > exact * std::max(1.0, std::abs(value));
  return {kept, f64, blown, rounded};
}

std::string Hand::text(const Figure& x) const {
  std::string text;
  constexpr double wide = 1e6;
  if (x.dtype == i32 && std::abs(x.value) < 1e15)
    return fmt::format("{}", static_cast<std::int64_t>(x.value));
  if (pencil && x.rounded && std::abs(x.value) < wide) {
    const int before = x.value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(x.value))));
    text = fmt::format("{:.{}f}", x.value, x.blown ? std::max(0, blown_digits - 1 - before) : places);
    return x.value == 0 ? "0" : text;
  }
  const auto narrow = static_cast<float>(x.value);
  if (x.dtype == f32 && std::isinf(narrow) == std::isinf(x.value))
    append_number(text, narrow, digits);
  else
    append_number(text, x.value, pencil ? 15 : digits);
  return text;
}

std::string row_text(const Hand& hand, std::span<const Figure> figures, bool brackets, std::int64_t more) {
  if (!brackets) return hand.text(figures[0]);
  std::string text;
  for (const Figure& figure : figures)
    text += fmt::format("{}{}", text.empty() ? "[" : ", ", hand.text(figure));
  return text + (more > 0 ? fmt::format(", … {} more]", more) : "]");
}

std::vector<Figure> figures_of(const Line& line, std::size_t column, const Hand& hand,
                               const std::function<Figure(const Token&)>& given,
                               const std::function<Figure(int)>& earlier) {
  const std::vector<Token>& tokens = line.columns[column];
  std::vector<Figure> figures(tokens.size());
  std::vector<std::size_t> open;  // operands that wait for what is done with them
  std::vector<Figure> operands;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const Token& token = tokens[t];
    Figure& figure = figures[t];
    if (token.kind == Kind::input) {
      figure = given(token);
    } else if (token.kind == Kind::line) {
      figure = earlier(token.from);
    } else if (token.leaf()) {
      figure = hand.figure(token.value, token.dtype);
    } else {
      const auto first = open.end() - token.operands;
      operands.clear();
      for (auto at = first; at != open.end(); ++at) operands.push_back(figures[*at]);
      // What is left out of a total is blown up as the rest of it is.
      if (!operands.empty() && tokens[open.back()].kind == Kind::rest) {
        operands.back().blown = true;
        const bool blown = Work{token, operands}.all_blown();
        operands.back() = figures[open.back()] = hand.figure(tokens[open.back()].value, f64, blown);
      }
      const Work work{token, operands};
      if (token.kind == Kind::choice)
        figure = operands[0];
      else if (!hand.pencil)
        figure = {token.value, line.dtype};
      else
        figure = hand.figure(
            work.value(), f64,
            token.kind == Kind::call ? token.function == "exp" : token.kind == Kind::sum && work.all_blown());
      open.erase(first, open.end());
    }
    open.push_back(t);
  }
  return figures;
}

}  // namespace pencil::inspect
