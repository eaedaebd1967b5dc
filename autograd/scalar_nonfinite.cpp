// The scalar statement that made a NaN or an infinity.

#include <cmath>

#include "autograd/format.hpp"
#include "autograd/nonfinite.hpp"
#include "autograd/tape_body.hpp"

namespace pencil::detail {

namespace {

// What the operands of a statement and its plain numbers hold. A NaN among numbers and constants is the
// statement's own.
struct Holds {
  bool infinity = false, nan = false;

  Holds(const Statements& statements, const RecordView& record) {
    for (const double x : record.numbers) infinity = infinity || std::isinf(x);
    for (const std::uint32_t source : record.sources) {
      const double x = statements.words()[source];
      infinity = infinity || std::isinf(x);
      nan = nan || (std::isnan(x) && !statements.is_constant(source));
    }
  }
};

bool makes(double value, bool of_infinity) { return of_infinity ? std::isnan(value) : !std::isfinite(value); }

NonFinite described(const Statements& statements, const Run& run, NonFinite::Origin origin,
                    std::uint32_t place, double value, bool of_infinity) {
  return {.origin = origin,
          .step = run.step,
          .word = "scalars",
          .name = statements.label_of(place),
          .path = "",
          .value = value,
          .count = 1,
          .out_of_infinity = of_infinity};
}

}  // namespace

std::optional<NonFinite> TapeBody::nonfinite_statement(std::uint32_t begin, std::uint32_t end) const {
  const double* const words = statements->words();
  std::uint32_t first = 0;
  each_scalar_back(words, begin, end, [&](std::uint32_t place) {
    if (std::isfinite(words[place])) return;
    if (const Block* const block = statements->block_of(place)) {
      if (block->step < 0) first = place;
      return;
    }
    const Holds before(*statements, RecordView(words, place));
    if (!before.nan && makes(words[place], before.infinity)) first = place;
  });
  if (first == 0) return std::nullopt;
  const Run& run = statements->run_of(first);
  if (statements->block_of(first))
    return described(*statements, run, NonFinite::Origin::leaf, first, words[first], false);
  const RecordView record(words, first);
  NonFinite found = described(*statements, run, NonFinite::Origin::forward, first, words[first],
                              Holds(*statements, record).infinity);
  found.arithmetic = cause_of_statement(Step(this, run.step), *statements, record).arithmetic;
  return found;
}

std::optional<NonFinite> TapeBody::nonfinite_slope(const Run& run, std::uint32_t from) const {
  const double* const words = statements->words();
  std::uint32_t overflow = 0;
  for (std::uint32_t end = from + 2; end > run.begin;) {
    const RecordView record(words, end - 2);
    end = record.begin;
    if (record.is_constant()) continue;
    if (record.is_block()) {
      for (std::uint32_t i = record.operands; i-- > 0;)
        if (overflow == 0 && !std::isfinite(words[record.begin + 2 * i + 1])) overflow = record.begin + 2 * i;
      continue;
    }
    const double gradient = words[record.place + 1];
    if (gradient == 0) continue;
    if (overflow == 0 && !std::isfinite(gradient)) overflow = record.place;
    for (std::size_t k = 0; k < record.sources.size() && !std::isnan(gradient); ++k) {
      const double slope = slope_of(record, k), product = slope * gradient;
      const std::uint32_t source = record.sources[k];
      if (!makes(product, std::isinf(gradient)) || statements->is_constant(source)) continue;
      NonFinite found =
          described(*statements, run, NonFinite::Origin::rule, record.place, product, std::isinf(gradient));
      found.arithmetic = fmt::format("{}*{} = {}, its gradient times its slope by {}", number_text(gradient),
                                     number_text(slope), number_text(product), statements->label_of(source));
      return found;
    }
  }
  if (overflow == 0) return std::nullopt;
  return described(*statements, run, NonFinite::Origin::sum, overflow, words[overflow + 1], false);
}

}  // namespace pencil::detail
