#include "autograd/inspect/statements.hpp"

#include <algorithm>

#include "autograd/format.hpp"
#include "autograd/scalar_arithmetic.hpp"
#include "autograd/tape_body.hpp"

namespace pencil {

namespace {

using detail::Operation;
using detail::RecordView;

// How strongly a text holds together: what binds less than its surroundings is put in brackets.
enum Binding : std::uint8_t { sum, sign, product, whole };

struct Part {
  std::string text;
  Binding binding;
};

std::string bracketed(Part part, bool needed) {
  return needed ? fmt::format("({})", part.text) : std::move(part.text);
}

Part number(double value) {
  Part part{number_text(value), whole};
  if (part.text.starts_with('-')) part.binding = sign;
  return part;
}

// a + b. Equal bindings on the right keep their brackets: that is the order in which it was computed.
Part infix(Part a, Part b, Operation operation) {
  const bool of_sum = operation == Operation::add || operation == Operation::subtract;
  const Binding binding = of_sum ? sum : product;
  const bool left = a.binding < binding, right = b.binding <= binding;
  const char* const space = of_sum ? " " : "";
  return {fmt::format("{}{}{}{}{}", bracketed(std::move(a), left), space, name_of(operation), space,
                      bracketed(std::move(b), right)),
          binding};
}

bool is_infix(Operation operation) {
  return operation == Operation::add || operation == Operation::subtract ||
         operation == Operation::multiply || operation == Operation::divide;
}

// "a, b, c", or "a, b, c, … 97 more" of many.
template <class F>
std::string list(std::size_t count, const F& item) {
  constexpr std::size_t most = 6, first = 3;
  std::string text;
  const std::size_t shown = count <= most ? count : first;
  for (std::size_t i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += item(i);
  }
  if (shown < count) text += fmt::format(", … {} more", count - shown);
  return text;
}

}  // namespace

ScalarStatements::ScalarStatements(const Tape& tape) : tape_(&tape) {
  (void)tape.size();  // gives the last statements their step
  body_ = &detail::body_of(tape);
  statements_ = body_->statements.get();
  if (!statements_) return;
  detail::each_scalar_back(statements_->words(), detail::Statements::first_place, statements_->end(),
                           [&](std::uint32_t place) { places_.push_back(place); });
  std::ranges::reverse(places_);
}

ScalarStatements::Range ScalarStatements::of(const Step& step) const {
  const detail::Run* const run = statements_ ? statements_->run_of_step(step.number()) : nullptr;
  if (!run) return {};
  return {index_of(run->begin), index_of(run->end)};
}

// Of the first Scalar that stands at a word or behind it.
std::size_t ScalarStatements::index_of(std::uint32_t word) const {
  return static_cast<std::size_t>(std::ranges::lower_bound(places_, word) - places_.begin());
}

std::int64_t ScalarStatements::find(const Scalar& x) const {
  if (x.is_constant() || !statements_ || !statements_->has(x.tag())) return -1;
  return static_cast<std::int64_t>(index_of(static_cast<std::uint32_t>(x.tag())));
}

std::optional<RecordView> ScalarStatements::record(std::size_t i) const {
  if (statements_->block_of(places_[i])) return std::nullopt;
  return RecordView(statements_->words(), places_[i]);
}

int ScalarStatements::step(std::size_t i) const { return statements_->run_of(places_[i]).step; }

StepBytes ScalarStatements::bytes(const Step& step) const {
  const detail::Run* const run = statements_ ? statements_->run_of_step(step.number()) : nullptr;
  if (!run) return {};
  const Range range = of(step);
  const auto numbers = static_cast<std::int64_t>(8 * (range.last - range.first));
  return {
      .values = numbers, .saved = std::int64_t{8} * (run->end - run->begin) - 2 * numbers, .blame = numbers};
}

double ScalarStatements::value(std::size_t i) const { return statements_->words()[places_[i]]; }
double ScalarStatements::gradient(std::size_t i) const { return statements_->words()[places_[i] + 1]; }
bool ScalarStatements::reached(std::size_t i) const {
  return places_[i] <= statements_->state().swept && tape_->step(step(i)).reached();
}

std::string ScalarStatements::label(std::size_t i) const {
  std::string name = statements_->name_of(places_[i]);
  return name.empty() ? fmt::format("s{}", i) : name;
}

std::optional<std::size_t> ScalarStatements::at(std::uint32_t place) const {
  const std::size_t i = index_of(place);
  return i < places_.size() && places_[i] == place ? std::optional(i) : std::nullopt;
}

std::string ScalarStatements::operand(std::uint32_t place) const {
  const auto i = at(place);
  return i ? label(*i) : number_text(statements_->words()[place]);
}

std::string ScalarStatements::formula(std::size_t i) const {
  const std::uint32_t place = places_[i];
  if (const detail::Block* const block = statements_->block_of(place))
    return block->step < 0 ? "" : fmt::format("#{}[{}]", block->step, (place - block->begin) / 2);

  const RecordView record(statements_->words(), place);
  const auto source = [&](std::size_t k) { return operand(record.sources[k]); };
  if (record.is_range()) {
    const auto operation = static_cast<Operation>(record.header.formula());
    if (operation != Operation::dot)
      return fmt::format("{}({})", name_of(operation), list(record.sources.size(), source));
    const std::size_t half = record.sources.size() / 2;
    return fmt::format("dot([{}], [{}])", list(half, source),
                       list(half, [&](std::size_t k) { return source(half + k); }));
  }
  if (!record.is_known()) return "…";
  const auto leaf = [&](std::size_t k) {
    std::string text = source(k);
    const Binding binding = text.starts_with('-') ? sign : whole;
    return Part{std::move(text), binding};
  };
  const auto node = [](Operation operation, Part a, Part b) -> Part {
    if (is_infix(operation)) return infix(std::move(a), std::move(b), operation);
    if (operation == Operation::negate) {
      const bool brackets = a.binding < whole;
      return {fmt::format("-{}", bracketed(std::move(a), brackets)), sign};
    }
    if (detail::takes_two(operation))
      return {fmt::format("{}({}, {})", name_of(operation), a.text, b.text), whole};
    return {fmt::format("{}({})", name_of(operation), a.text), whole};
  };
  return detail::walk_formula<Part>(record, leaf, number, node).text;
}

std::string ScalarStatements::text(std::size_t i) const {
  const std::string how = formula(i);
  return fmt::format("{} = {}{}{}", label(i), how, how.empty() ? "" : " = ", number_text(value(i)));
}

std::string ScalarStatements::stacked(const Step& step) const {
  const detail::Run* const run = statements_ ? statements_->run_of_step(step.number()) : nullptr;
  if (!run || !step.raw_output().defined()) return "";
  const std::span<const double> values = step.raw_output().values<double>();
  return fmt::format("stack({})", list(values.size(), [&](std::size_t i) {
                       return run->stacked[i] > 0 ? operand(run->stacked[i]) : number_text(values[i]);
                     }));
}

std::optional<std::size_t> ScalarStatements::stacked_at(const Step& step, std::int64_t element) const {
  const detail::Run* const run = statements_ ? statements_->run_of_step(step.number()) : nullptr;
  const auto i = static_cast<std::size_t>(element);
  return run && i < run->stacked.size() ? at(run->stacked[i]) : std::nullopt;
}

std::vector<std::size_t> ScalarStatements::taken(const Step& step, int from, std::int64_t element) const {
  std::vector<std::size_t> all;
  const detail::Run* const run = statements_ ? statements_->run_of_step(step.number()) : nullptr;
  if (!run) return all;
  for (const detail::Block& block : statements_->blocks_between(run->begin, run->end))
    if (block.step == from) all.push_back(index_of(block.begin + 2 * static_cast<std::uint32_t>(element)));
  return all;
}

std::vector<std::pair<int, Tensor>> ScalarStatements::given(const Step& step) const {
  std::vector<std::pair<int, Tensor>> all;
  const detail::Run* const run = statements_ ? statements_->run_of_step(step.number()) : nullptr;
  if (run && step.reached())
    body_->each_given(*run, [&](int to, const Tensor& gradient) { all.emplace_back(to, gradient); });
  return all;
}

std::int64_t scalar_bytes(const Tape& tape) {
  const detail::Statements* const statements = detail::body_of(tape).statements.get();
  return statements ? std::int64_t{8} * (statements->end() - detail::Statements::first_place) : 0;
}

}  // namespace pencil
