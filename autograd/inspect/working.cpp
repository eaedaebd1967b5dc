#include "autograd/inspect/working.hpp"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "autograd/format.hpp"
#include "autograd/inspect/cells.hpp"
#include "autograd/inspect/replay.hpp"
#include "autograd/inspect/statements.hpp"

namespace pencil::inspect {

namespace {

using Kind = Token::Kind;

// What a step that has no arithmetic says behind its number.
std::string leaf_sentence(const Step& step, Glossary glossary) {
  switch (step.kind()) {
    case StepKind::parameter:
      return fmt::format(", a {}, {}", translated("parameter", glossary),
                         step.raw_output().frozen() ? "frozen" : "moved by the optimizer");
    case StepKind::constant:
      return ", a constant: nothing on this tape computed it";
    case StepKind::foreign:
      return ", computed on another tape: a constant here";
    default:
      return fmt::format("not recorded: {} ran under Tape::Pause", step.op().word());
  }
}

// The same of a step of Scalars.
std::string scalars_sentence(const ScalarStatements& scalars, const Step& step, std::int64_t element) {
  if (!step.raw_output().defined()) {
    const auto [first, last] = scalars.of(step);
    return fmt::format(
        "{} Scalar{}: the dump lists them, and explain(tape, scalar) shows the arithmetic of one",
        last - first, last - first == 1 ? "" : "s");
  }
  const auto i = scalars.stacked_at(step, element);
  if (!i) return ", a constant among the Scalars";
  const std::string formula = scalars.formula(*i);
  return fmt::format(", the Scalar {}{}{}", scalars.label(*i), formula.empty() ? "" : " = ", formula);
}

// Why a step's inputs cannot be read, or nothing.
std::string unreadable(const Step& step) {
  for (int i = 0; i < step.inputs(); ++i) {
    const Tensor& x = step.raw_input(i);
    if (!x.defined())
      return fmt::format("input {} of {} was freed as backward passed; Keep::all keeps it", i, step.word());
    if (!step.overwritten(i)) continue;
    std::string text = fmt::format("input {} of {}, parameter '", i, step.word());
    append_plain(text, x.name());
    return text + fmt::format("', was overwritten at {}, version {} → {}", to_string(x.written()),
                              step.input_version(i), x.version());
  }
  return "";
}

std::string no_arithmetic(const Step& step) {
  std::string text = fmt::format(": {} does not say how it computes", step.word());
  for (int i = 0; i < step.inputs(); ++i)
    text += fmt::format("{}{}", i == 0 ? "; its inputs are of shapes " : ", ", step.raw_input(i).shape());
  return text;
}

// What a fused op went through, on a tape of its own.
class InSteps {
 public:
  InSteps(const Step& step, const WritingOptions& options)
      : step_(step), options_(options), tape_({.detail = Detail::steps}) {
    const Role none("");
    std::vector<Tensor> inputs;  // handles of their own: nothing outside is recorded or marked
    for (int i = 0; i < step.inputs(); ++i)
      inputs.push_back(with_shape(step.input(i), step.input(i).shape()));
    output_ = step.op().parts().composed(inputs, step.attributes());
    if (!output_.defined()) fail("[{}] composed gave back no tensor", step.word());
    for (int i = 0; i < step.inputs(); ++i) {
      const Tensor& x = inputs[static_cast<std::size_t>(i)];
      if (const int number = tape_.step_of(x); number >= 0) given_.emplace(number, i);
      if (same(x, output_)) untouched_ = i;
    }
  }

  Working working(std::int64_t element) {
    const int last = tape_.step_of(output_);
    if (last >= 0) collect(last, element);
    Working page;
    for (auto& [place, sheet] : sheets_) write(page, place, sheet);
    const Token result = last >= 0 ? leaf(last, element) : untouched(element);
    if (result.kind != Kind::line || result.from + 1 < static_cast<std::int32_t>(page.lines.size())) {
      page.lines.push_back({.dtype = step_.dtype()});
      page.lines.back().columns.push_back({result});
    }
    Line& line = page.lines.back();
    line.word.clear();
    line.places.clear();
    line.recorded = {number_at(step_.output(), element)};
    return page;
  }

 private:
  using Place = std::pair<int, std::int64_t>;
  struct Sheet {
    std::unique_ptr<Worksheet> sheet;
    Worked root;
  };

  // The numbers of the tape that are written, found from the last back to the inputs.
  void collect(int step, std::int64_t element) {
    std::map<Place, bool> waiting{{{step, element}, true}};
    while (!waiting.empty()) {
      const Place place = std::prev(waiting.end())->first;
      waiting.erase(place);
      if (place.first < 0) continue;  // a plain number
      const Step inner = tape_.step(place.first);
      if (inner.kind() != StepKind::op) continue;
      Sheet& found = sheets_[place];
      if (!inner.op().parts().explain) continue;
      found.sheet = std::make_unique<Worksheet>(inner);
      found.root = inner.op().parts().explain(*found.sheet, place.second);
      Working draft;  // only to see which numbers are read
      write_out(
          draft, *found.sheet, found.root,
          [&](const WorkedTerm& term) {
            waiting.emplace(Place(inner.input_step(term.input), term.element), true);
            return Token{.value = term.value};
          },
          options_);
    }
  }

  Token input(int i, std::int64_t element) const {
    const Tensor& x = step_.input(i);
    return {
        .kind = Kind::input, .dtype = x.dtype(), .from = i, .place = element, .value = number_at(x, element)};
  }
  // Of an output that no op touched.
  Token untouched(std::int64_t element) const {
    if (untouched_ >= 0) return input(untouched_, element);
    return {.dtype = output_.dtype(), .value = number_at(output_, element)};
  }

  // What stands for a number of the tape.
  Token leaf(int step, std::int64_t element) const {
    if (const auto found = leaves_.find({step, element}); found != leaves_.end()) return found->second;
    if (const auto found = given_.find(step); found != given_.end()) return input(found->second, element);
    const Tensor& x = tape_.step(step).output();
    return {.dtype = x.dtype(), .value = number_at(x, element)};
  }

  void write(Working& page, const Place& place, Sheet& found) {
    const Step inner = tape_.step(place.first);
    const auto leaf_of = [&](const WorkedTerm& term) {
      const int from = inner.input_step(term.input);
      return from < 0 ? Token{.dtype = inner.dtype(), .value = term.value} : leaf(from, term.element);
    };
    if (!found.sheet) {  // it does not say its arithmetic
      leaves_[place] = {.dtype = inner.dtype(), .value = number_at(inner.output(), place.second)};
      page.notes.push_back(number_text(leaves_[place].value) + no_arithmetic(inner));
      return;
    }
    const int root = found.root.term();
    if (root >= 0) {
      const WorkedTerm& term = found.sheet->terms()[static_cast<std::size_t>(root)];
      if (term.kind == WorkedKind::input) {  // it moves numbers only
        leaves_[place] = leaf_of(term);
        return;
      }
    }
    write_out(page, *found.sheet, found.root, leaf_of, options_);
    Line& line = page.lines.back();
    line.word = word_of(inner, options_.glossary);
    line.shape = inner.shape();
    line.places = {place.second};
    line.recorded = {number_at(inner.output(), place.second)};
    leaves_[place] = {.kind = Kind::line,
                      .dtype = inner.dtype(),
                      .from = static_cast<std::int32_t>(page.lines.size()) - 1,
                      .value = line.recorded[0]};
  }

  const Step step_;
  const WritingOptions& options_;
  Tape tape_;
  Tensor output_;
  std::map<int, int> given_;  // which input a constant of the tape is
  int untouched_ = -1;        // which input the output is itself
  std::map<Place, Sheet> sheets_;
  std::map<Place, Token> leaves_;
};

}  // namespace

Working working_of(const Tape& tape, int number, std::int64_t element, const WritingOptions& options) {
  const Step step = tape.step(number);
  const Tensor& output = step.raw_output();
  Working page;
  page.dtype = step.dtype();
  if (output.defined()) page.said = {number_at(output, element)};
  if (step.kind() == StepKind::scalars) {
    page.says = scalars_sentence(ScalarStatements(tape), step, element);
    return page;
  }
  if (step.kind() != StepKind::op) {
    page.says = leaf_sentence(step, options.glossary);
    return page;
  }
  if (const std::string why = unreadable(step); !why.empty() || !output.defined()) {
    page.says =
        output.defined()
            ? fmt::format("; its arithmetic is gone: {}", why)
            : fmt::format("the output of {} was freed as backward passed; Keep::all keeps it", step.word());
    return page;
  }
  const OpParts& parts = step.op().parts();
  if (parts.explain) {
    Worksheet sheet(step);
    const Worked root = parts.explain(sheet, element);
    const auto leaf_of = [&](const WorkedTerm& term) -> Token {
      return {.kind = Kind::input,
              .dtype = step.input(term.input).dtype(),
              .from = term.input,
              .place = term.element,
              .value = term.value};
    };
    write_out(page, sheet, root, leaf_of, options);
    page.lines.back().recorded = page.said;
  } else if (parts.composed) {
    page = InSteps(step, options).working(element);
  } else {
    page.says = no_arithmetic(step);
  }
  return page;
}

}  // namespace pencil::inspect
