#include "autograd/ops/worked.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/format.hpp"

namespace pencil::detail {

std::vector<std::int64_t> summed_places(const Shape& from, const Shape& to, std::int64_t element) {
  std::vector<std::int64_t> places{0};
  const int missing = from.rank() - to.rank();
  std::int64_t stride = 1;
  for (int axis = from.rank() - 1; axis >= 0; --axis) {  // the last axis is innermost: places ascend
    const std::int64_t size = from[axis];
    if (axis >= missing && to[axis - missing] == size) {
      for (std::int64_t& place : places) place += element % size * stride;
      element /= size;
    } else {
      std::vector<std::int64_t> along;
      along.reserve(places.size() * static_cast<std::size_t>(size));
      for (std::int64_t i = 0; i < size; ++i)
        for (const std::int64_t place : places) along.push_back(place + i * stride);
      places = std::move(along);
    }
    stride *= size;
  }
  return places;
}

std::vector<Worked> inputs_at(Worksheet& sheet, int i, std::span<const std::int64_t> places) {
  std::vector<Worked> numbers;
  numbers.reserve(places.size());
  for (const std::int64_t place : places) numbers.push_back(sheet.input(i, place));
  return numbers;
}

std::vector<Worked> inputs_along(Worksheet& sheet, int i, const Line& line) {
  std::vector<Worked> numbers;
  numbers.reserve(static_cast<std::size_t>(line.count));
  for (std::int64_t k = 0; k < line.count; ++k) numbers.push_back(sheet.input(i, line.at(k)));
  return numbers;
}

namespace {

// The first number that comes before all others, NaN before any; there is one.
template <class Before>
std::size_t first_of(std::span<const Worked> x, Before before) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < x.size() && !std::isnan(x[best].value()); ++i)
    if (std::isnan(x[i].value()) || before(x[i].value(), x[best].value())) best = i;
  return best;
}

// The limits of a dtype: the largest finite number and the smallest with all its digits.
std::pair<double, double> limits(DType dtype) {
  if (dtype == f32) return {std::numeric_limits<float>::max(), std::numeric_limits<float>::min()};
  return {std::numeric_limits<double>::max(), std::numeric_limits<double>::min()};
}

}  // namespace

std::size_t first_largest(std::span<const Worked> x) { return first_of(x, std::greater<>()); }

Worked largest(Worksheet& sheet, std::span<const Worked> x) {
  return x.empty() ? 0 : sheet.call("max", x[first_largest(x)].value(), x);
}

Worked smallest(Worksheet& sheet, std::span<const Worked> x) {
  return x.empty() ? 0 : sheet.call("min", x[first_of(x, std::less<>())].value(), x);
}

Worked mean_of(Worksheet& sheet, std::span<const Worked> x) {
  if (x.empty()) sheet.note("the mean of nothing is 0");
  return sheet.sum(x) / std::max<std::size_t>(1, x.size());
}

bool blows_up_beyond(double x, DType dtype) { return std::exp(x) > limits(dtype).first; }

BlownUp blown_up(Worksheet& sheet, std::span<const Worked> x, DType dtype, bool lines) {
  BlownUp result;
  double total = 0;
  for (const Worked& each : x) total += std::exp(each.value());
  const auto [most, least] = limits(dtype);
  if (!x.empty() && (total > most || total < least))
    result.shift = sheet.line("largest", x[first_largest(x)]);
  for (const Worked& each : x) {
    const Worked e = exp(each - result.shift);
    result.each.push_back(lines ? sheet.line("blow_up", e) : e);
  }
  result.total = sheet.line("total", sheet.sum(result.each));
  return result;
}

Worked log_of_total(Worksheet& sheet, std::span<const Worked> x, DType dtype) {
  if (!x.empty())
    if (const Worked& top = x[first_largest(x)]; std::isinf(top.value())) return top;
  const BlownUp e = blown_up(sheet, x, dtype, false);
  return e.shift + log(e.total);
}

void note_shift(Worksheet& sheet, std::span<const Worked> x, const BlownUp& e) {
  if (e.shift.plain()) sheet.note("computed as e^(x − " + number_text(x[first_largest(x)].value()) + ")");
}

bool nothing_to_share(Worksheet& sheet, std::span<const Worked> x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!std::ranges::all_of(x, [](const Worked& each) { return each.value() == -infinity; })) return false;
  sheet.note("0: all that may be looked at is -inf");
  return true;
}

void note_hidden(Worksheet& sheet, std::int64_t hidden, std::int64_t all) {
  if (hidden) sheet.note(fmt::format("{} of {} hidden by the mask", hidden, all));
}

}  // namespace pencil::detail
