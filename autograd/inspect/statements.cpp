#include "autograd/inspect/statements.hpp"

#include <algorithm>

#include "autograd/format.hpp"
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

bool takes_two(Operation operation) {
  return is_infix(operation) || operation == Operation::pow || operation == Operation::min ||
         operation == Operation::max || operation == Operation::hypot;
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

ScalarStatements::ScalarStatements(const Tape& tape) {
  (void)tape.size();  // gives the last statements their step
  body_ = &detail::body_of(tape);
  statements_ = body_->statements.get();
  if (!statements_) return;
  for (std::uint32_t end = statements_->end(); end > detail::Statements::first_place;) {
    const RecordView record(statements_->words(), end - 2);
    if (record.is_block())
      for (std::uint32_t i = record.operands; i-- > 0;) places_.push_back(record.begin + 2 * i);
    else if (!record.is_constant())
      places_.push_back(record.place);
    end = record.begin;
  }
  std::ranges::reverse(places_);
}

ScalarStatements::Range ScalarStatements::of(const Step& step) const {
  const detail::Run* const run = statements_ ? statements_->run_of_step(step.number()) : nullptr;
  if (!run) return {};
  const auto index = [&](std::uint32_t word) {
    return static_cast<std::size_t>(std::ranges::lower_bound(places_, word) - places_.begin());
  };
  return {index(run->begin), index(run->end)};
}

double ScalarStatements::value(std::size_t i) const { return statements_->words()[places_[i]]; }
double ScalarStatements::gradient(std::size_t i) const { return statements_->words()[places_[i] + 1]; }
bool ScalarStatements::reached(std::size_t i) const { return places_[i] <= statements_->state().swept; }

std::string ScalarStatements::label(std::size_t i) const {
  std::string name = statements_->name_of(places_[i]);
  return name.empty() ? fmt::format("s{}", i) : name;
}

std::string ScalarStatements::operand(std::uint32_t place) const {
  const auto found = std::ranges::lower_bound(places_, place);
  if (found == places_.end() || *found != place) return number(statements_->words()[place]).text;
  return label(static_cast<std::size_t>(found - places_.begin()));
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
  std::vector<Part> stack;
  std::size_t sources = 0, numbers = 0;
  const auto pop = [&] {
    Part part = std::move(stack.back());
    stack.pop_back();
    return part;
  };
  for (const Operation operation : detail::formula_code(record.header.formula())) {
    if (operation == Operation::leaf) {
      std::string text = source(sources++);
      const Binding binding = text.starts_with('-') ? sign : whole;
      stack.push_back({std::move(text), binding});
    } else if (operation == Operation::number) {
      stack.push_back(number(record.numbers[numbers++]));
    } else if (operation == Operation::negate) {
      Part a = pop();
      const bool brackets = a.binding < whole;
      stack.push_back({fmt::format("-{}", bracketed(std::move(a), brackets)), sign});
    } else if (takes_two(operation)) {
      Part b = pop(), a = pop();
      stack.push_back(is_infix(operation)
                          ? infix(std::move(a), std::move(b), operation)
                          : Part{fmt::format("{}({}, {})", name_of(operation), a.text, b.text), whole});
    } else {
      stack.push_back({fmt::format("{}({})", name_of(operation), pop().text), whole});
    }
  }
  return stack.empty() ? "…" : stack.back().text;
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
