#include "autograd/format.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace pencil {

namespace {

// std::to_chars knows no locale and rounds correctly.
using Buffer = std::array<char, 400>;  // a double in fixed notation has at most 309 digits before the point

template <class T, class... How>
std::string_view chars(Buffer& buffer, T x, How... how) {
  return {buffer.data(),
          static_cast<std::size_t>(
              std::to_chars(buffer.data(), buffer.data() + buffer.size(), x, how...).ptr - buffer.data())};
}

struct Scientific {
  std::ptrdiff_t digits;
  int exponent;
};

// What "-1.234e-05" says.
Scientific parts(std::string_view text) {
  const std::size_t e = text.find('e');
  int exponent = 0;
  const char* from = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(from, text.data() + text.size(), exponent);
  return {std::count_if(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(e),
                        [](char c) { return c >= '0' && c <= '9'; }),
          exponent};
}

template <class T>
void append_float(std::string& to, T x, int digits) {
  if (std::isnan(x)) {
    to += "nan";
  } else if (std::isinf(x)) {
    to += x < 0 ? "-inf" : "inf";
  } else if (x == std::trunc(x) && std::abs(x) < T(1e7)) {
    Buffer buffer;
    to += chars(buffer, static_cast<std::int64_t>(x));
  } else {
    Buffer buffer;
    std::string_view text = chars(buffer, x, std::chars_format::scientific);
    Scientific found = parts(text);
    const bool whole = found.digits <= digits;
    if (!whole) {
      text = chars(buffer, x, std::chars_format::scientific, digits - 1);
      found = parts(text);
    }
    if (found.exponent >= -4 && found.exponent < 6)
      text = whole ? chars(buffer, x, std::chars_format::fixed)
                   : chars(buffer, x, std::chars_format::fixed, std::max(1, digits - 1 - found.exponent));
    to += text;
  }
}

}  // namespace

void append_number(std::string& to, double x, int digits) { append_float(to, x, digits); }
void append_number(std::string& to, float x, int digits) { append_float(to, x, digits); }
void append_number(std::string& to, std::int32_t x) {
  Buffer buffer;
  to += chars(buffer, x);
}

std::string number_text(double x) {
  std::string text;
  append_number(text, x);
  return text;
}

double rounded_to_places(double x, int places) {
  const double scale = std::pow(10.0, std::abs(places));
  const double rounded = places < 0 ? std::round(x / scale) * scale : std::round(x * scale) / scale;
  return std::isfinite(rounded) ? rounded : x;  // too large to have places after the point
}

double rounded_to_digits(double x, int digits) {
  if (x == 0 || !std::isfinite(x)) return x;
  return rounded_to_places(x, digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(x)))));
}

namespace {

// How all numbers of one array are written, and how wide they come out on both sides of the point.
struct Layout {
  int decimals = 0;
  bool powers = false;
  std::size_t left = 0;
  std::size_t right = 0;

  template <class T>
  std::string text(T x) const {
    Buffer buffer;
    if constexpr (std::is_same_v<T, std::int32_t>) {
      return std::string(chars(buffer, x));
    } else {
      if (std::isnan(x)) return "nan";
      if (std::isinf(x)) return x < 0 ? "-inf" : "inf";
      std::string number(
          chars(buffer, x, powers ? std::chars_format::scientific : std::chars_format::fixed, decimals));
      if (powers) return number;
      if (number.find('.') == std::string::npos) number += '.';
      number.erase(number.find_last_not_of('0') + 1);
      return number == "-0." ? "0." : number;
    }
  }

  static std::size_t before_point(const std::string& number) {
    return std::min(number.find('.'), number.size());
  }

  void widen(const std::string& number) {
    if (number.find('.') == std::string::npos) return;
    left = std::max(left, before_point(number));
    right = std::max(right, number.size() - before_point(number));
  }

  std::string padded(const std::string& number) const {
    std::string cell;
    if (number.find('.') == std::string::npos) {  // nan, inf and whole numbers stand at the right
      cell.append(left + right - std::min(number.size(), left + right), ' ');
      return cell + number;
    }
    cell.append(left - before_point(number), ' ');
    cell += number;
    cell.append(left + right - cell.size(), ' ');
    return cell;
  }
};

class Printer {
 public:
  Printer(const Tensor& x, const ArrayFormat& format)
      : x_(x), format_(format), shortened_(x.size() > format.whole) {}

  std::string print() {
    dispatch(x_.dtype(), [&]<class T>(T) { measure<T>(); });
    dispatch(x_.dtype(), [&]<class T>(T) { write<T>(0, 0); });
    return std::move(out_);
  }

 private:
  // The positions of an axis that are shown; −1 stands for those left out.
  std::vector<std::int64_t> shown(int axis) const {
    const std::int64_t n = x_.size(axis);
    std::vector<std::int64_t> positions;
    for (std::int64_t i = 0; i < n; ++i) {
      if (shortened_ && n > 2 * format_.ends && i == format_.ends) {
        positions.push_back(-1);
        i = n - format_.ends;
      }
      positions.push_back(i);
    }
    return positions;
  }

  template <class T, class F>
  void each_shown(int axis, std::int64_t offset, F&& f) const {
    if (axis == x_.rank()) return f(x_.values<T>()[static_cast<std::size_t>(offset)]);
    for (const std::int64_t i : shown(axis))
      if (i >= 0) each_shown<T>(axis + 1, offset * x_.size(axis) + i, f);
  }

  template <class T>
  void measure() {
    layout_.decimals = format_.decimals < 0 ? 4 : format_.decimals;
    if constexpr (!std::is_same_v<T, std::int32_t>) {
      each_shown<T>(0, 0, [&](T x) {
        const T size = std::abs(x);
        if (std::isfinite(x) && x != 0 && (size >= T(1e8) || (format_.decimals < 0 && size < T(1e-4))))
          layout_.powers = true;
      });
    }
    each_shown<T>(0, 0, [&](T x) { layout_.widen(layout_.text(x)); });
    // Numbers without a point fit whole into what the others need on both sides.
    std::size_t longest = 0;
    each_shown<T>(0, 0, [&](T x) { longest = std::max(longest, layout_.text(x).size()); });
    layout_.left += longest - std::min(longest, layout_.left + layout_.right);
  }

  template <class T>
  void write(int axis, std::int64_t offset) {
    if (axis == x_.rank()) {
      out_ += x_.rank() == 0 ? layout_.text(x_.values<T>()[static_cast<std::size_t>(offset)])
                             : layout_.padded(layout_.text(x_.values<T>()[static_cast<std::size_t>(offset)]));
      return;
    }
    const bool innermost = axis == x_.rank() - 1;
    const auto indent = [&] { out_.append(static_cast<std::size_t>(axis) + 1, ' '); };
    out_ += '[';
    std::size_t column = static_cast<std::size_t>(axis) + 1;
    bool first = true;
    for (const std::int64_t i : shown(axis)) {
      const std::size_t cell = i < 0 ? 3 : layout_.left + layout_.right;
      if (!first && innermost) {
        const bool full = column + 1 + cell + 1 > static_cast<std::size_t>(format_.width);
        out_ += full ? '\n' : ' ';
        column = full ? static_cast<std::size_t>(axis) + 1 : column + 1;
        if (full) indent();
      } else if (!first) {
        out_.append(static_cast<std::size_t>(x_.rank() - 1 - axis), '\n');
        indent();
      }
      first = false;
      column += cell;
      if (i < 0)
        out_ += "...";
      else
        write<T>(axis + 1, offset * x_.size(axis) + i);
    }
    out_ += ']';
  }

  const Tensor& x_;
  const ArrayFormat& format_;
  bool shortened_;
  Layout layout_;
  std::string out_;
};

}  // namespace

std::string to_string(const Tensor& x, const ArrayFormat& format) {
  return x.defined() ? Printer(x, format).print() : "(no tensor)";
}

}  // namespace pencil
