#include "autograd/scalar.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "autograd/tape_body.hpp"

namespace pencil {

namespace {

using detail::Operation;
using detail::Recorder;
using detail::Statements;

// What is recorded of a tape of this thread, or null.
Statements* statements_of(std::uint64_t tag) {
  return detail::find_statements(static_cast<std::uint32_t>(tag >> 32));
}

// Writes a block of leaves while it reads the Scalars on them: vector's constructor for ranges fills its
// memory once, without asking for room at each.
class LeafWriter {
 public:
  using value_type = Scalar;
  using reference = Scalar;
  using pointer = const Scalar*;
  using difference_type = std::ptrdiff_t;
  using iterator_category = std::forward_iterator_tag;

  LeafWriter() = default;
  LeafWriter(const double* value, double* word, std::uint64_t tag) : value_(value), word_(word), tag_(tag) {}
  Scalar operator*() const {
    word_[0] = *value_;
    word_[1] = 0;
    return Scalar::tagged(*value_, tag_);
  }
  LeafWriter& operator++() {
    ++value_;
    word_ += 2;
    tag_ += 2;
    return *this;
  }
  LeafWriter operator++(int) {
    const LeafWriter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const LeafWriter& other) const { return value_ == other.value_; }
  difference_type operator-(const LeafWriter& other) const { return value_ - other.value_; }

 private:
  const double* value_ = nullptr;
  double* word_ = nullptr;
  std::uint64_t tag_ = 0;
};

// A statement over a range, with one slope for all operands or one for each (`slope(i)`); the operands are x
// and then y.
template <class F>
Scalar over_range(Operation operation, double value, std::span<const Scalar> x, std::span<const Scalar> y,
                  bool shared, const F& slope) {
  bool any = false, all = true;
  for (const std::span<const Scalar> part : {x, y})
    for (const Scalar& operand : part) {
      const bool here = detail::meet(operand.tag());
      any |= here;
      all &= here;
    }
  if (!any) return value;
  const std::size_t count = x.size() + y.size();
  Recorder& recorder = detail::recorder;
  detail::need_room(5 * count + 8);
  std::vector<std::uint32_t> settled;  // places, where some operands are constants
  const auto place = [&](const Scalar& operand) {
    const bool here = detail::on_current_tape(operand.tag());
    return static_cast<std::uint32_t>(here ? operand.tag() : detail::record_constant(operand.value()));
  };
  if (!all)
    for (const std::span<const Scalar> part : {x, y})
      std::ranges::transform(part, std::back_inserter(settled), place);

  const auto operands = static_cast<std::uint32_t>(count);
  double* at = recorder.words + static_cast<std::uint32_t>(recorder.next);
  const double* const begin = at;
  for (std::size_t i = 0; i < (shared ? 1 : count); ++i) *at++ = slope(i);
  auto* source = reinterpret_cast<std::uint32_t*>(at);
  at += detail::words_of_sources(operands + 1);
  if (all)
    for (const std::span<const Scalar> part : {x, y})
      for (const Scalar& operand : part) *source++ = static_cast<std::uint32_t>(operand.tag());
  else
    std::ranges::copy(settled, source);
  auto* const header = reinterpret_cast<std::uint32_t*>(at) - 1;
  header[-1] = operands;
  header[0] = static_cast<std::uint32_t>(operation) << 16 | detail::Header::many |
              (shared ? detail::Header::unit : 0);
  at[0] = value;
  at[1] = 0;
  const std::uint64_t tag = recorder.next + static_cast<std::uint64_t>(at - begin);
  recorder.next = tag + 2;
  return Scalar::tagged(value, tag);
}

}  // namespace

bool detail::on_current_tape(std::uint64_t tag) {
  if ((tag ^ recorder.first) >> 32 == 0) return true;
  if (tag != 0 && !tape_lives(static_cast<std::uint32_t>(tag >> 32)))
    fail(
        "[scalar] a Scalar of a tape that has ended was used; take its value() to go on with it as a "
        "constant, or make it anew on a tape that records");
  return false;
}

void detail::need_room(std::uint64_t words) {
  if (recorder.next > recorder.limit || words > recorder.limit - recorder.next)
    fail("[scalar] the tape is full: {} words are written, and a statement needs {} more",
         static_cast<std::uint32_t>(recorder.next), words);
}

std::uint64_t detail::record_constant(double value) {
  double* const at = recorder.words + static_cast<std::uint32_t>(recorder.next);
  reinterpret_cast<std::uint32_t*>(at)[1] = Header::constant;
  at[1] = value;
  at[2] = 0;
  recorder.next += 3;
  return recorder.next - 2;
}

std::vector<Scalar> detail::scalar_block(std::span<const double> values, std::string_view name, int step) {
  Statements* const statements = recording_statements();
  if (!statements) return {values.begin(), values.end()};
  const std::size_t count = values.size();
  if (count == 0) return {};
  need_room(2 * count + 3);
  double* const at = recorder.words + static_cast<std::uint32_t>(recorder.next);
  std::vector<Scalar> leaves(LeafWriter(values.data(), at, recorder.next),
                             LeafWriter(values.data() + count, nullptr, 0));
  const auto begin = static_cast<std::uint32_t>(recorder.next);
  const auto end = begin + static_cast<std::uint32_t>(2 * count);
  double* const close = at + 2 * count;
  reinterpret_cast<std::uint32_t*>(close)[0] = static_cast<std::uint32_t>(count);
  reinterpret_cast<std::uint32_t*>(close)[1] = Header::block;
  close[1] = close[2] = 0;
  recorder.next += 2 * count + 3;
  statements->blocks.push_back({begin, end, step, std::string(name)});
  return leaves;
}

std::vector<Scalar> scalars(std::span<const double> values, std::string_view name) {
  return detail::scalar_block(values, name, -1);
}

std::vector<Scalar> scalars(std::initializer_list<double> values,
                            std::initializer_list<std::string_view> names) {
  if (names.size() != values.size())
    fail("[scalars] {} values came with {} names; need a name for each", values.size(), names.size());
  std::vector<Scalar> leaves = scalars(std::span(values.begin(), values.size()));
  for (std::size_t i = 0; i < leaves.size(); ++i) named(leaves[i], std::string(names.begin()[i]));
  return leaves;
}

Scalar named(const Scalar& x, std::string name) {
  if (x.is_constant()) return x;
  Statements* const statements = statements_of(x.tag());
  if (!statements) {
    (void)detail::on_current_tape(x.tag());  // says where its tape has ended
    fail("[scalar] '{}' would be the name of a Scalar of another thread's tape", name);
  }
  statements->names[static_cast<std::uint32_t>(x.tag())] = std::move(name);
  return x;
}

std::string Scalar::name() const {
  const Statements* const statements = is_constant() ? nullptr : statements_of(tag_);
  return statements ? statements->name_of(static_cast<std::uint32_t>(tag_)) : "";
}

double Scalar::slow_grad() const {
  if (is_constant())
    fail(
        "[grad] this Scalar is a constant: no gradient comes to it. Make it with scalars(…) while a tape "
        "records");
  const Statements* const statements = statements_of(tag_);
  const auto place = static_cast<std::uint32_t>(tag_);
  if (!statements)
    fail("[grad] the tape of this Scalar {}", detail::tape_lives(static_cast<std::uint32_t>(tag_ >> 32))
                                                  ? "belongs to another thread"
                                                  : "has ended; read gradients before it does");
  if (statements->state().swept == 0)
    fail("[grad] this Scalar has no gradient yet: backward has not run on its tape");
  if (place > statements->state().swept)
    fail(
        "[grad] this Scalar was recorded after the number that backward started from: no gradient came to "
        "it");
  return statements->words()[place + 1];
}

Scalar sum(std::span<const Scalar> x) {
  double total = 0;
  for (const Scalar& term : x) total += term.value();
  return over_range(Operation::sum, total, x, {}, true, [](std::size_t) { return 1.0; });
}

Scalar mean(std::span<const Scalar> x) {
  double total = 0;
  for (const Scalar& term : x) total += term.value();
  const double share = x.empty() ? 0 : 1 / static_cast<double>(x.size());
  return over_range(Operation::mean, x.empty() ? 0 : total / static_cast<double>(x.size()), x, {}, true,
                    [&](std::size_t) { return share; });
}

Scalar dot(std::span<const Scalar> x, std::span<const Scalar> y) {
  if (x.size() != y.size()) fail("[dot] the left has {} Scalars, the right {}", x.size(), y.size());
  double total = 0;
  for (std::size_t i = 0; i < x.size(); ++i) total += x[i].value() * y[i].value();
  return over_range(Operation::dot, total, x, y, false,
                    [&](std::size_t i) { return i < x.size() ? y[i].value() : x[i - x.size()].value(); });
}

Scalar log_sum_exp(std::span<const Scalar> x) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double largest = -infinity;
  for (const Scalar& term : x)
    largest = term.value() > largest || std::isnan(term.value()) ? term.value() : largest;
  if (largest == -infinity)
    return over_range(Operation::log_sum_exp, largest, x, {}, false, [](std::size_t) { return 0.0; });
  double total = 0;
  std::vector<double> powers;
  powers.reserve(x.size());
  for (const Scalar& term : x) {
    powers.push_back(term.value() == largest ? 1 : std::exp(term.value() - largest));
    total += powers.back();
  }
  return over_range(Operation::log_sum_exp, largest + std::log(total), x, {}, false,
                    [&](std::size_t i) { return powers[i] / total; });
}

}  // namespace pencil
