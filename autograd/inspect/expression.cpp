#include "autograd/inspect/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace pencil::inspect {

namespace {

using Kind = Token::Kind;

// How tightly a text holds together, the loosest first.
enum class Grip : std::uint8_t { sum, quotient, product, power, atom };

struct Piece {
  std::string text;
  Grip grip = Grip::atom;

  bool negative() const { return text.starts_with('-'); }
  bool holds(Grip least) const { return grip >= least && !negative(); }
  std::string held(Grip least) const { return holds(least) ? text : fmt::format("({})", text); }
  // The same, where a minus at the front does no harm.
  std::string led(Grip least) const { return grip >= least ? text : fmt::format("({})", text); }
};

// The sign of a comparison that did not hold.
std::string_view opposite(std::string_view sign) {
  if (sign == "<") return ">=";
  if (sign == "<=") return ">";
  if (sign == ">") return "<=";
  if (sign == ">=") return "<";
  return sign == "==" ? "!=" : "==";
}

class LineText {
 public:
  LineText(const Line& line, const Hand& hand, const std::vector<std::vector<Figure>>& figures,
           const std::vector<std::vector<Figure>>& results, std::int64_t more)
      : line_(line),
        tokens_(line.columns[0]),
        hand_(hand),
        figures_(figures),
        results_(results),
        more_(more) {}

  std::string expression() {
    for (std::size_t t = 0; t < tokens_.size(); ++t) {
      const auto count = static_cast<std::size_t>(tokens_[t].operands);
      std::vector<Piece> operands(std::make_move_iterator(open_.end() - static_cast<std::ptrdiff_t>(count)),
                                  std::make_move_iterator(open_.end()));
      open_.resize(open_.size() - count);
      open_.push_back(tokens_[t].leaf() ? leaf(t) : joined(t, operands));
    }
    return open_.back().text;
  }

  const std::vector<std::string>& reasons() const { return reasons_; }

  std::string row(const std::vector<Figure>& figures) const {
    return row_text(hand_, figures, line_.columns.size() > 1, more_);
  }

 private:
  bool varies(std::size_t t) const {
    const Token& first = tokens_[t];
    if (line_.columns.size() == 1) return false;
    if (first.kind == Kind::line && results_[static_cast<std::size_t>(first.from)].size() > 1) return true;
    return std::ranges::any_of(line_.columns,
                               [&](const std::vector<Token>& other) { return !same_leaf(first, other[t]); });
  }

  Piece leaf(std::size_t t) const {
    std::string text;
    if (varies(t)) {
      std::vector<Figure> column;
      for (const std::vector<Figure>& figures : figures_) column.push_back(figures[t]);
      text = row(column);
    } else {
      text = hand_.text(figures_[0][t]);
    }
    if (tokens_[t].kind != Kind::rest) return {text};
    return {fmt::format("… {} more{}", tokens_[t].place,
                        tokens_[t].function.empty() ? fmt::format(" terms that sum to {}", text)
                        : text == "nan"             ? std::string()
                                        : fmt::format(", the {} of them {}", tokens_[t].function, text)),
            Grip::sum};
  }

  Piece joined(std::size_t t, std::vector<Piece>& x) {
    switch (tokens_[t].kind) {
      case Kind::negative:
        return {fmt::format("-{}", x[0].held(Grip::quotient)), std::max(x[0].grip, Grip::quotient)};
      case Kind::sum:
        return sum(std::move(x));
      case Kind::difference:
        x[0].text += fmt::format(" - {}", x[1].held(Grip::quotient));
        return {std::move(x[0].text), Grip::sum};
      case Kind::product: {
        std::string text = x[0].led(Grip::product);
        for (std::size_t i = 1; i < x.size(); ++i) text += fmt::format("*{}", x[i].held(Grip::product));
        return {text, Grip::product};
      }
      case Kind::quotient:
        return {x[0].led(Grip::quotient) + " / " + x[1].held(Grip::power), Grip::quotient};
      case Kind::choice:
        return choice(t, x);
      default:
        return call(tokens_[t].function, x);
    }
  }

  static Piece sum(std::vector<Piece> x) {
    if (x.empty()) return {"0"};
    std::string text = std::move(x[0].text);
    for (std::size_t i = 1; i < x.size(); ++i)
      text += x[i].negative() ? fmt::format(" - {}", std::string_view(x[i].text).substr(1))
                              : fmt::format(" + {}", x[i].text);
    return {text, x.size() == 1 ? x[0].grip : Grip::sum};
  }

  Piece choice(std::size_t t, const std::vector<Piece>& x) {
    const Token& token = tokens_[t];
    const std::size_t right = t - 1, left = before(right);
    // Where there is a NaN, what is not less is not "greater or equal" either.
    const bool nan = std::ranges::any_of(figures_, [&](const std::vector<Figure>& figures) {
      return std::isnan(figures[left].value) || std::isnan(figures[right].value);
    });
    const std::string_view sign = token.held || nan ? token.function : opposite(token.function);
    std::string reason =
        fmt::format("{}{} {} {}", token.held || !nan ? "" : "not ", x[1].text, sign, x[2].text);
    if (std::ranges::find(reasons_, reason) == reasons_.end()) reasons_.push_back(std::move(reason));
    return x[0];
  }

  // The token of the operand that stands before the one that ends at t.
  std::size_t before(std::size_t t) const {
    for (std::int64_t wanted = 1; wanted > 0; --t) wanted += tokens_[t].operands - 1;
    return t;
  }

  static Piece call(std::string_view function, const std::vector<Piece>& x) {
    const auto power = [](const std::string& base, const Piece& exponent) -> Piece {
      return {fmt::format("{}^{}", base, exponent.held(Grip::atom)), Grip::power};
    };
    if (function == "exp") return power("e", x[0]);
    if (function == "pow" && x.size() == 2) return power(x[0].held(Grip::atom), x[1]);
    if (function == "expm1") return {power("e", x[0]).text + " - 1", Grip::sum};
    if (function == "log1p") return {fmt::format("log({})", sum({{"1"}, x[0]}).text)};
    if (function == "rsqrt") return {fmt::format("1 / sqrt({})", x[0].text), Grip::quotient};
    std::string text(function);
    for (std::size_t i = 0; i < x.size(); ++i) text += fmt::format("{}{}", i == 0 ? "(" : ", ", x[i].text);
    return {text + ")"};
  }

  const Line& line_;
  const std::vector<Token>& tokens_;
  const Hand& hand_;
  const std::vector<std::vector<Figure>>& figures_;
  const std::vector<std::vector<Figure>>& results_;
  std::int64_t more_;
  std::vector<Piece> open_;
  std::vector<std::string> reasons_;
};

// Half a unit of the last digit that is shown of a number.
double half_unit(double x, int digits) {
  return x == 0 ? 0 : 0.5 * std::pow(10.0, std::floor(std::log10(std::abs(x))) - digits + 1);
}

// The result to show: the tape's own number, unless the digits shown tell it from what the arithmetic comes
// to.
Figure shown(const Hand& hand, const Figure& worked, double recorded) {
  const bool same = std::abs(worked.value - recorded) <= half_unit(recorded, hand.digits);
  return same ? Figure{recorded, worked.dtype} : worked;
}

}  // namespace

WrittenLines written_down(const Working& page, const Hand& hand,
                          const std::function<Figure(const Token&)>& given, std::int64_t more) {
  WrittenLines written;
  std::vector<std::vector<Figure>> read;  // what later lines read: the tape's own number of a step
  for (const Line& line : page.lines) {
    std::vector<std::vector<Figure>> figures;
    std::vector<Figure> results, own;
    for (std::size_t c = 0; c < line.columns.size(); ++c) {
      figures.push_back(figures_of(line, c, hand, given, [&](int k) {
        const std::vector<Figure>& earlier = read[static_cast<std::size_t>(k)];
        return earlier[std::min(c, earlier.size() - 1)];
      }));
      results.push_back(figures.back().back());
      if (!hand.pencil) results.back().dtype = line.dtype;
      own.push_back(results.back());
      if (line.recorded.empty() || hand.pencil) continue;
      own.back().value = line.recorded[c];
      results.back() = shown(hand, results.back(), line.recorded[c]);
    }
    LineText text(line, hand, figures, written.results, more);
    std::string all = text.expression();
    const std::string result = text.row(results);
    if (std::ranges::all_of(results, [&](const Figure& figure) { return hand.text(figure) == all; }))
      all = result;
    else if (result != all)
      all += fmt::format(" = {}", result);
    for (std::size_t i = 0; i < text.reasons().size(); ++i)
      all += (i == 0 ? ", for " : " and ") + text.reasons()[i];
    if (text.row(own) != text.row(results))
      all += fmt::format(" (in {}: {})", name_of(line.dtype), text.row(own));
    written.text.push_back(std::move(all));
    written.results.push_back(std::move(results));
    read.push_back(std::move(own));
  }
  return written;
}

}  // namespace pencil::inspect
