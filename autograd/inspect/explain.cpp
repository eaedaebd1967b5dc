#include "autograd/inspect/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "autograd/inspect/cells.hpp"
#include "autograd/inspect/expression.hpp"
#include "autograd/inspect/places.hpp"
#include "autograd/inspect/working.hpp"

namespace pencil {

namespace {

using inspect::Figure;
using inspect::Hand;
using inspect::Line;
using inspect::Token;
using inspect::Working;

using Place = std::pair<int, std::int64_t>;  // a step and one of its numbers

// The row-major places an index asks for: one number, or a row of them.
std::vector<std::int64_t> asked_places(const Step& step, std::span<const std::int64_t> index) {
  const Shape& shape = step.shape();
  const int rank = shape.rank(), given = static_cast<int>(index.size());
  if (given != rank && given != rank - 1)
    fail("[explain] step {} ({}) has shape {}; need {} for one number{}, got {}", step.number(), step.word(),
         shape, rank == 1 ? "1 index" : fmt::format("{} indices", rank),
         rank > 0 ? fmt::format(" or {} for a row", rank - 1) : "", given);
  std::int64_t place = 0;
  for (int axis = 0; axis < given; ++axis) {
    const std::int64_t size = shape[axis], i = index[static_cast<std::size_t>(axis)];
    if (i < -size || i >= size)
      fail("[explain] step {} ({}) has shape {}; index {} is not on axis {}, which has {} places",
           step.number(), step.word(), shape, i, axis, size);
    place = place * size + (i < 0 ? i + size : i);
  }
  if (given == rank) return {place};
  std::vector<std::int64_t> row(static_cast<std::size_t>(shape[-1]));
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = place * shape[-1] + static_cast<std::int64_t>(i);
  return row;
}

// What stands on the tape under a step's number.
std::string title_of(const Step& step, std::span<const std::int64_t> places, Glossary glossary) {
  std::string name(word_of(step, glossary));
  if (!step.name().empty()) {
    name += ' ';
    inspect::append_plain(name, step.name());
  }
  const std::string where = inspect::places_text(step.shape(), places);
  return where.empty() ? name : fmt::format("{} {}", name, where);
}

class Explainer {
 public:
  Explainer(const Tape& tape, const ExplainOptions& options)
      : tape_(tape),
        options_(options),
        writing_{.terms = std::max<std::size_t>(1, options.terms), .glossary = options.glossary},
        hand_{.pencil = options.pencil, .digits = std::clamp(options.digits, 1, 17)} {}

  Explanation explain(int number, const std::vector<std::int64_t>& places) {
    const Step step = tape_.step(number);
    std::vector<Working> row;
    const std::size_t most = std::max<std::size_t>(1, options_.numbers);
    const std::size_t shown = places.size() > most + 1 ? most : places.size();
    for (std::size_t i = 0; i < shown; ++i)
      row.push_back(inspect::working_of(tape_, number, places[i], writing_));
    const auto more = static_cast<std::int64_t>(places.size() - shown);
    follow(number, row);
    Explanation explanation;
    for (auto& [place, found] : followed_)
      explanation.blocks.push_back(block(place.first, {&place.second, 1}, found.working, 0));
    explanation.blocks.push_back(block(number, places, joined(step, places, row), more));
    return explanation;
  }

 private:
  struct Found {
    int depth;
    Working working;
  };

  // Finds the numbers that are shown, and those behind them, from the last step back: a number's users all
  // stand behind it on the tape, so that its depth is known when its turn comes.
  void follow(int number, const std::vector<Working>& row) {
    for (const Working& working : row) wait_for_inputs(number, working, 1);
    while (!waiting_.empty()) {
      const auto last = std::prev(waiting_.end());
      const auto [place, depth] = *last;
      waiting_.erase(last);
      Found found{depth, inspect::working_of(tape_, place.first, place.second, writing_)};
      wait_for_inputs(place.first, found.working, depth);
      followed_.emplace(place, std::move(found));
    }
  }

  void wait_for_inputs(int number, const Working& working, int depth) {
    if (depth >= options_.depth) return;
    const Step step = tape_.step(number);
    for (const Line& line : working.lines)
      for (const std::vector<Token>& tokens : line.columns)
        for (const Token& token : tokens) {
          if (token.kind != Token::Kind::input) continue;
          const int from = step.input_step(token.from);
          if (from < 0 || tape_.step(from).kind() != StepKind::op) continue;
          const auto [found, is_new] = waiting_.try_emplace({from, token.place}, depth + 1);
          if (!is_new) found->second = std::min(found->second, depth + 1);
        }
  }

  // A row as one working, and where that cannot be, its numbers one below the other.
  static Working joined(const Step& step, const std::vector<std::int64_t>& places,
                        std::vector<Working>& row) {
    if (row.empty()) return {.says = "the row holds no number"};
    if (row.size() == 1) return row[0];
    if (!row[0].says.empty()) {
      for (std::size_t i = 1; i < row.size(); ++i)
        row[0].said.insert(row[0].said.end(), row[i].said.begin(), row[i].said.end());
      return row[0];
    }
    if (std::optional<Working> page = inspect::side_by_side(row)) return *page;
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i].lines.back().shape = step.shape();
      row[i].lines.back().places = {places[i]};
    }
    Working page = inspect::one_by_one(row);
    if (const std::size_t more = places.size() - row.size(); more > 0)
      page.notes.insert(page.notes.begin(), fmt::format("… {} more numbers", more));
    return page;
  }

  // A number that a step read, as its own block came to it or else as the tape has it.
  Figure given(const Step& step, const Token& token) {
    if (!hand_.pencil) return {token.value, token.dtype};
    const int from = step.input_step(token.from);
    if (const auto found = figures_.find({from, token.place}); found != figures_.end()) return found->second;
    const std::string_view role = from < 0 ? std::string_view() : tape_.step(from).role();
    return hand_.figure(token.value, token.dtype, role == "blow_up" || role == "total");
  }

  Explanation::Block block(int number, std::span<const std::int64_t> places, const Working& page,
                           std::int64_t more) {
    const Step step = tape_.step(number);
    Explanation::Block block;
    block.step = number;
    block.elements.assign(places.begin(), places.end());
    block.title = fmt::format("step {}: {}", number, title_of(step, places, options_.glossary));
    if (!step.path().empty() && step.kind() == StepKind::op) {
      block.title += " in ";
      inspect::append_plain(block.title, step.path());
    }
    block.notes = page.notes;
    if (!page.says.empty()) {
      block.lines.push_back({"", said(page, more) + page.says});
      return block;
    }
    const inspect::WrittenLines written = inspect::written_down(
        page, hand_, [&](const Token& token) { return given(step, token); }, more);
    for (std::size_t k = 0; k < page.lines.size(); ++k) {
      std::string word = page.lines[k].word;
      const std::string where = inspect::places_text(page.lines[k].shape, page.lines[k].places);
      if (!where.empty()) word += fmt::format("{}{}", word.empty() ? "" : " ", where);
      block.lines.push_back({std::move(word), written.text[k]});
    }
    if (places.size() == 1) figures_[{number, places[0]}] = written.results.back()[0];
    block.from = sources(step, page);
    return block;
  }

  std::string said(const Working& page, std::int64_t more) const {
    std::vector<Figure> figures;
    for (const double x : page.said) figures.push_back(hand_.figure(x, page.dtype));
    return figures.empty() ? "" : inspect::row_text(hand_, figures, figures.size() > 1, more);
  }

  // Which numbers of which steps the arithmetic shows.
  std::string sources(const Step& step, const Working& page) const {
    std::map<int, std::vector<std::int64_t>> read;  // by step
    std::vector<int> order;
    for (const Line& line : page.lines)
      for (const std::vector<Token>& tokens : line.columns)
        for (const Token& token : tokens) {
          const int from = token.kind == Token::Kind::input ? step.input_step(token.from) : -1;
          if (from < 0) continue;
          const auto [found, is_new] = read.try_emplace(from);
          if (is_new) order.push_back(from);
          found->second.push_back(token.place);
        }
    std::string text;
    for (const int from : order)
      text += fmt::format("{}{} (step {})", text.empty() ? "from " : ", ",
                          title_of(tape_.step(from), read[from], options_.glossary), from);
    return text;
  }

  const Tape& tape_;
  const ExplainOptions& options_;
  inspect::WritingOptions writing_;
  Hand hand_;
  std::map<Place, int> waiting_;
  std::map<Place, Found> followed_;
  std::map<Place, Figure> figures_;
};

}  // namespace

Explanation explained(const Tape& tape, int step, std::span<const std::int64_t> index,
                      const ExplainOptions& options) {
  return Explainer(tape, options).explain(step, asked_places(tape.step(step), index));
}

std::string to_string(const Explanation& explanation) {
  std::string text;
  for (const Explanation::Block& block : explanation.blocks) {
    text += block.title + "\n";
    std::size_t width = 0;
    for (const Explanation::Line& line : block.lines) width = std::max(width, inspect::width_of(line.word));
    const auto append = [&](std::string_view part) { text += fmt::format("    {}\n", part); };
    for (const Explanation::Line& line : block.lines) {
      std::string word = line.word;
      if (width > 0) word.append(width + 2 - inspect::width_of(word), ' ');
      append(word + line.arithmetic);
    }
    for (const std::string& note : block.notes) append(fmt::format("({})", note));
    if (!block.from.empty()) append(block.from);
  }
  return text;
}

std::string explain(const Tape& tape, int step, std::span<const std::int64_t> index,
                    const ExplainOptions& options) {
  return to_string(explained(tape, step, index, options));
}

std::string explain(const Tape& tape, int step, std::initializer_list<std::int64_t> index,
                    const ExplainOptions& options) {
  return explain(tape, step, std::span(index.begin(), index.size()), options);
}

std::string explain(const Tape& tape, const Tensor& x, std::initializer_list<std::int64_t> index,
                    const ExplainOptions& options) {
  const int step = tape.step_of(x);
  if (step < 0) fail("[explain] the tensor of shape {} is not on this tape", x.shape());
  return explain(tape, step, index, options);
}

}  // namespace pencil
