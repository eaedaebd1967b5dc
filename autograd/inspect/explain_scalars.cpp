// The arithmetic of a Scalar's statement.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "autograd/inspect/explain.hpp"
#include "autograd/inspect/expression.hpp"
#include "autograd/inspect/statements.hpp"
#include "autograd/scalar_arithmetic.hpp"
#include "autograd/tape_body.hpp"

namespace pencil {

namespace {

using detail::RecordView;
using inspect::Figure;
using inspect::Token;
using inspect::Working;

class ScalarExplainer {
 public:
  ScalarExplainer(const Tape& tape, const ScalarStatements& scalars, const ExplainOptions& options)
      : tape_(tape),
        scalars_(scalars),
        words_(detail::body_of(tape).statements->words()),
        options_(options),
        hand_{.pencil = options.pencil, .digits = std::clamp(options.digits, 1, 17)} {}

  // A Scalar's readers all stand behind it, so that from the last back its depth is known when its turn
  // comes.
  Explanation explain(std::size_t asked) {
    std::map<std::size_t, int> waiting{{asked, 1}};  // numbers on the tape, with their depth
    std::vector<std::size_t> found;
    while (!waiting.empty()) {
      const auto [number, depth] = *std::prev(waiting.end());
      waiting.erase(number);
      found.push_back(number);
      if (depth >= options_.depth) continue;
      for (const std::size_t operand : operands_of(number)) {
        int& at = waiting.try_emplace(operand, depth + 1).first->second;
        at = std::min(at, depth + 1);
      }
    }
    Explanation explanation;
    for (std::size_t i = found.size(); i-- > 0;) explanation.blocks.push_back(block(found[i]));
    return explanation;
  }

 private:
  // The Scalars that a statement reads, in the order it reads them.
  std::vector<std::size_t> operands_of(std::size_t i) const {
    std::vector<std::size_t> operands;
    if (const auto record = scalars_.record(i))
      for (const std::uint32_t source : record->sources)
        if (const auto operand = scalars_.at(source)) operands.push_back(*operand);
    return operands;
  }

  Explanation::Block block(std::size_t i) {
    const std::string formula = scalars_.formula(i);
    Explanation::Block block;
    block.step = scalars_.step(i);
    block.elements = {static_cast<std::int64_t>(i)};
    block.title =
        fmt::format("step {}: {}{}{}", block.step, scalars_.label(i), formula.empty() ? "" : " = ", formula);
    const auto record = scalars_.record(i);
    if (record && record->is_known()) {
      write(block, i, *record);
    } else {
      figures_[i] = hand_.figure(scalars_.value(i), f64);
      const char* what = record ? ", a statement whose formula was not kept: the program has too many"
                         : formula.empty() ? ", a leaf"
                                           : ", a number of a tensor";
      block.lines.push_back({"", hand_.text(figures_[i]) + what});
    }
    return block;
  }

  void write(Explanation::Block& block, std::size_t i, const RecordView& record) {
    Worksheet sheet(tape_.step(block.step));
    const Worked root = detail::arithmetic_of(sheet, words_, record);
    Working page;
    const auto leaf_of = [&](const WorkedTerm& term) -> Token {
      const auto operand = scalars_.at(static_cast<std::uint32_t>(term.element));
      if (!operand) return {.value = term.value};
      return {.kind = Token::Kind::input, .place = static_cast<std::int64_t>(*operand), .value = term.value};
    };
    inspect::write_out(page, sheet, root, leaf_of,
                       {.terms = std::max<std::size_t>(1, options_.terms), .glossary = options_.glossary});
    page.lines.back().recorded = {scalars_.value(i)};
    const auto given = [&](const Token& token) -> Figure {
      const auto found = figures_.find(static_cast<std::size_t>(token.place));
      return hand_.pencil && found != figures_.end() ? found->second : hand_.figure(token.value, f64);
    };
    const inspect::WrittenLines written = inspect::written_down(page, hand_, given);
    for (std::size_t k = 0; k < page.lines.size(); ++k)
      block.lines.push_back({page.lines[k].word, written.text[k]});
    block.notes = page.notes;
    figures_[i] = written.results.back()[0];
    block.from = sources(i);
  }

  std::string sources(std::size_t i) const {
    std::vector<std::string> labels;
    for (const std::size_t operand : operands_of(i))
      if (std::string label = scalars_.label(operand); std::ranges::find(labels, label) == labels.end()) {
        if (labels.size() == options_.terms) return fmt::format("from {}, …", fmt::join(labels, ", "));
        labels.push_back(std::move(label));
      }
    return labels.empty() ? "" : fmt::format("from {}", fmt::join(labels, ", "));
  }

  const Tape& tape_;
  const ScalarStatements& scalars_;
  const double* words_;
  const ExplainOptions& options_;
  inspect::Hand hand_;
  std::map<std::size_t, Figure> figures_;
};

}  // namespace

Explanation explained(const Tape& tape, const Scalar& x, const ExplainOptions& options) {
  const ScalarStatements scalars(tape);
  const std::int64_t number = scalars.find(x);
  if (number < 0)
    fail("[explain] the Scalar {} is {}", x.value(),
         x.is_constant() ? "a constant: no tape computed it" : "not on this tape");
  return ScalarExplainer(tape, scalars, options).explain(static_cast<std::size_t>(number));
}

std::string explain(const Tape& tape, const Scalar& x, const ExplainOptions& options) {
  return to_string(explained(tape, x, options));
}

}  // namespace pencil
