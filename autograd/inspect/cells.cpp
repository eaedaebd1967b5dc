#include "autograd/inspect/cells.hpp"

#include <algorithm>

#include "autograd/format.hpp"
#include "autograd/inspect/summary.hpp"

namespace pencil::inspect {

namespace {

constexpr std::int64_t widest_row = 8;
constexpr std::int64_t most_rows = 8;

// How far a number reaches to both sides of its point, so that points stand above each other.
struct Sides {
  std::size_t left = 0;
  std::size_t right = 0;
};

Sides sides_of(const std::string& number) {
  const std::size_t point = std::min(number.find('.'), number.size());
  return {point, number.size() - point};
}

template <class T>
void append_whole(Cell& to, const Tensor& x) {
  const auto values = x.values<T>();
  if (x.rank() == 0) return append_number(to.line(), values[0]);
  if (values.empty()) {
    to.line() += "[]";
    return;
  }
  const auto columns = static_cast<std::size_t>(x.size(-1));
  const bool several = values.size() > columns;
  std::vector<Sides> widest(columns);
  std::string number;
  for (std::size_t i = 0; several && i < values.size(); ++i) {
    number.clear();
    append_number(number, values[i]);
    Sides& column = widest[i % columns];
    const Sides sides = sides_of(number);
    column = {std::max(column.left, sides.left), std::max(column.right, sides.right)};
  }
  for (std::size_t row = 0; row < values.size(); row += columns) {
    std::string& line = to.line();
    for (std::size_t column = 0; column < columns; ++column) {
      line += column == 0 ? '[' : ' ';
      number.clear();
      append_number(number, values[row + column]);
      const Sides sides = sides_of(number);
      line.append(several ? widest[column].left - sides.left : 0, ' ');
      line += number;
      line.append(several ? widest[column].right - sides.right : 0, ' ');
    }
    line += ']';
  }
}

template <class T>
void append_summary(Cell& to, const Tensor& x) {
  const auto values = x.values<T>();
  std::string& first = to.line();
  for (std::size_t i = 0; i < static_cast<std::size_t>(std::min(first_numbers, x.size())); ++i) {
    append_number(first, values[i]);
    first += ' ';
  }
  first += "…";

  const Summary summary = summary_of(x);
  std::string& second = to.line();
  if (summary.finite > 0) {
    second += "least ";
    append_number(second, static_cast<T>(summary.least));
    second += " mean ";
    append_number(second, summary.mean);
    second += " largest ";
    append_number(second, static_cast<T>(summary.largest));
  }
  const auto count = [&](std::int64_t n, const char* what) {
    if (n > 0) second += fmt::format("{}{} {}", second.empty() ? "" : " ", n, what);
  };
  count(summary.nan, "nan");
  count(summary.inf, "inf");
}

}  // namespace

std::string& Cell::line() {
  if (used_ == lines_.size()) lines_.emplace_back();
  std::string& fresh = lines_[used_++];
  fresh.clear();
  return fresh;
}

std::size_t Cell::width() const {
  std::size_t widest = 0;
  for (std::size_t i = 0; i < used_; ++i) widest = std::max(widest, width_of(lines_[i]));
  return widest;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

void append_plain(std::string& to, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n')
      to += "\\n";
    else if (c == '\t')
      to += "\\t";
    else if (byte < 0x20 || byte == 0x7f)
      to += fmt::format("\\x{:02x}", byte);
    else
      to += c;
  }
}

void append_values(Cell& to, const Tensor& x, std::int64_t whole) {
  const std::int64_t columns = x.rank() == 0 ? 1 : x.size(-1);
  const bool small =
      x.size() <= whole && columns <= widest_row && (columns == 0 || x.size() / columns <= most_rows);
  dispatch(x.dtype(),
           [&]<class T>(T) { small || x.size() == 0 ? append_whole<T>(to, x) : append_summary<T>(to, x); });
}

}  // namespace pencil::inspect
