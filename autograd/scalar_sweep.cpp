// The backward sweep over scalar statements.

#include <array>
#include <cmath>
#include <utility>

#include "autograd/scalar_body.hpp"

namespace pencil::detail {

namespace {

Header header_at(const double* place) { return {reinterpret_cast<const std::uint32_t*>(place)[-1]}; }
std::uint32_t count_at(const double* place) { return reinterpret_cast<const std::uint32_t*>(place)[-2]; }

// a b + c, rounded once where the processor does that anyway.
[[gnu::always_inline]] inline double multiply_add(double a, double b, double c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}

// Where the sweep stands: at a record's value, with the record's gradient in a register. Most statements are
// read by the next one (a running total), so the gradient of the record before is carried over instead of
// being written and read again.
struct Standing {
  double* at;
  double gradient;
};

// One record of a shape known to the compiler: gradients of its operands, the first one last, because it is
// the one that may be the record before. A gradient of 0 is passed on to nobody, whatever the slopes.
template <std::uint32_t operands, std::uint32_t numbers, bool unit>
[[gnu::always_inline]] inline Standing step(Standing now, double* words) {
  constexpr std::uint32_t sources = words_of_sources(operands);
  constexpr std::uint32_t slopes = operands - (unit ? 1 : 0);
  double* const before = now.at - words_of_record(operands, unit, numbers);
  if (now.gradient == 0) return {before, before[1]};
  const double* const slope = now.at - sources - numbers - slopes;
  const auto* const source = reinterpret_cast<const std::uint32_t*>(now.at - sources);
  for (std::uint32_t k = 1; k < operands; ++k) {
    double& total = (words + source[k])[1];
    total = multiply_add(slope[k - (unit ? 1 : 0)], now.gradient, total);
  }
  const auto add_first = [&](double total) {
    return unit ? total + now.gradient : multiply_add(slope[0], now.gradient, total);
  };
  double* const first = words + source[0];
  if (first == before) {
    const double total = add_first(before[1]);
    before[1] = total;
    return {before, total};
  }
  first[1] = add_first(first[1]);
  return {before, before[1]};
}

// Records of one shape that follow each other.
template <std::uint32_t operands, std::uint32_t numbers, bool unit>
Standing walk(Standing now, double* words, const double* begin) {
  constexpr std::uint32_t shape = operands | (unit ? Header::unit : 0) | numbers << 8;
  do {
    now = step<operands, numbers, unit>(now, words);
  } while (now.at > begin && header_at(now.at).shape() == shape);
  return now;
}

// One record of any shape.
Standing walk_any(Standing now, double* words, const double*) {
  const RecordView record(words, static_cast<std::uint32_t>(now.at - words));
  if (now.gradient != 0) {
    for (std::size_t k = 0; k < record.sources.size(); ++k) {
      double& total = words[record.sources[k] + 1];
      total = multiply_add(slope_of(record, k), now.gradient, total);
    }
  }
  double* const before = words + record.begin - 2;
  return {before, before[1]};
}

// The walk for each shape: operands, unit and numbers as they stand in a header.
using Walk = Standing (*)(Standing, double*, const double*);

template <std::uint32_t shape>
constexpr Walk walk_for() {
  constexpr std::uint32_t operands = shape & 0x7f, numbers = shape >> 8;
  if constexpr (operands >= 1 && operands <= 6)
    return &walk<operands, numbers, (shape & Header::unit) != 0>;
  else
    return &walk_any;
}
template <std::uint32_t... shape>
constexpr std::array<Walk, sizeof...(shape)> all_walks(std::integer_sequence<std::uint32_t, shape...>) {
  return {walk_for<shape>()...};
}
constexpr std::uint32_t shapes = 3 << 8;  // up to two numbers
constexpr std::array<Walk, shapes> walks = all_walks(std::make_integer_sequence<std::uint32_t, shapes>());

// Calls f with the word of each gradient before word `end`, from the last to the first.
template <class Words, class F>
void each_gradient(Words* words, std::uint32_t end, const F& f) {
  while (end > Statements::first_place) {
    const RecordView record(words, end - 2);
    f(words[end - 1]);
    if (record.is_block())
      for (std::uint32_t i = record.operands; i-- > 0;) f(words[record.begin + 2 * i + 1]);
    end = record.begin;
  }
}

}  // namespace

RecordView::RecordView(const double* words, std::uint32_t at)
    : header(header_at(words + at)), place(at), begin(at - 1), operands(header.operands()) {
  if (is_constant()) return;
  if (is_block()) {
    operands = count_at(words + at);
    begin = at - 1 - 2 * operands;
    return;
  }
  std::uint32_t slope_count = operands - (header.has_unit() ? 1 : 0),
                words_of_list = words_of_sources(operands);
  if (is_range()) {
    operands = count_at(words + at);
    slope_count = header.has_unit() ? 1 : operands;
    words_of_list = words_of_sources(operands + 1);
  }
  const std::uint32_t number_count = is_range() ? 0 : header.numbers();
  begin = at - words_of_list - number_count - slope_count;
  slopes = {words + begin, slope_count};
  numbers = {words + begin + slope_count, number_count};
  sources = {reinterpret_cast<const std::uint32_t*>(words + at - words_of_list), operands};
}

double slope_of(const RecordView& record, std::size_t k) {
  if (record.is_range()) return record.slopes[record.header.has_unit() ? 0 : k];
  const std::size_t leading = record.header.has_unit() ? 1 : 0;
  return k < leading ? 1 : record.slopes[k - leading];
}

void sweep_records(double* words, std::uint32_t from, std::uint32_t begin) {
  const double* const stop = words + begin;
  Standing now{words + from, words[from + 1]};
  while (now.at > stop) {
    const std::uint32_t shape = header_at(now.at).shape();
    now = (shape < shapes ? walks[shape] : &walk_any)(now, words, stop);
  }
}

void Statements::clear_gradients(std::uint32_t end) {
  each_gradient(words(), end, [](double& gradient) { gradient = 0; });
}

std::vector<double> Statements::gradients(std::uint32_t end) const {
  std::vector<double> all;
  each_gradient(static_cast<const double*>(words()), end,
                [&](const double& gradient) { all.push_back(gradient); });
  return all;
}

void Statements::set_gradients(std::uint32_t end, std::span<const double> all) {
  auto next = all.begin();
  each_gradient(words(), end, [&](double& gradient) { gradient = *next++; });
}

}  // namespace pencil::detail
