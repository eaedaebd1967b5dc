#include <cmath>
#include <string>

#include "autograd/autograd.hpp"
#include "examples/imdb/commands.hpp"
#include "examples/imdb/listening.hpp"
#include "examples/imdb/output.hpp"
#include "examples/imdb/review_sink.hpp"
#include "nn/nn.hpp"

namespace pencil::imdb {
namespace {

/// Which word sits in which slot: "1 the, 2 plot, 5–8 padding".
std::string slots_text(const Model& model, const Slots& slots) {
  std::string text;
  const std::size_t n = slots.numbers.size();
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i + 1;
    if (slots.numbers[i] == 0)
      while (end < n && slots.numbers[end] == 0) ++end;
    if (i > 0) text += ", ";
    text += end - i > 1 ? fmt::format("{}–{}", i + 1, end) : fmt::format("{}", i + 1);
    text += fmt::format(" {}", slots.numbers[i] == 0 ? "padding" : model.dictionary.word(slots.numbers[i]));
    i = end;
  }
  return text;
}

Tensor chance_of(const Tensor& logit) {
  const Role role("probability");
  return named(sigmoid(logit), "chance");
}

/// The word in each slot, for pictures of attention: "·" is padding.
std::vector<std::string> words_of(const Model& model, const Slots& slots) {
  std::vector<std::string> words;
  for (const std::int32_t number : slots.numbers)
    words.emplace_back(number == 0 ? "·" : model.dictionary.word(number));
  return words;
}

Tensor parameter_named(const std::vector<Tensor>& parameters, const std::string& name) {
  std::vector<std::string_view> names;
  for (const Tensor& each : parameters) {
    if (each.name() == name) return each;
    names.push_back(each.name());
  }
  throw UsageError(fmt::format("imdb explain: --why {}: the model's parameters are {}", excerpt(name),
                               fmt::join(names, ", ")));
}

/// What was asked for instead of the whole tape; empty where nothing was.
std::string answers(const ExplainOptions& o, const Tape& tape, const Tensor& start, Model& model) {
  std::string text;
  const auto add = [&](std::string answer) {
    if (!text.empty()) text += '\n';
    text += answer;
    if (!text.ends_with('\n')) text += '\n';
  };
  if (o.number)
    add(pencil::explain(tape, o.number->step, o.number->index,
                        {.depth = o.depth, .pencil = o.pencil, .glossary = o.glossary}));
  if (o.ledger) {
    const Step step = tape.step(o.ledger->step);
    add(to_string(ledger(tape, step.output(), o.ledger->index, {.glossary = o.glossary})));
  }
  if (o.why)
    add(to_string(why(tape, start, parameter_named(nn::parameters(model.classifier), *o.why),
                      {.glossary = o.glossary})));
  return text;
}

}  // namespace

int explain(const ExplainOptions& o, Console& console) {
  for (const auto& [path, option] :
       {std::pair(&o.html, "html"), {&o.dot, "dot"}, {&o.dump_json, "dump-json"}})
    check_can_be_written(*path, option);
  Model model = load_model(o.model);
  std::string text = o.text;
  nn::text::replace_broken_bytes(text);
  const Slots slots = slots_of(model, text);

  Tape tape({.detail = o.detail});
  const Tensor logit = named(model.classifier(named(slots.tokens(), "tokens")), "logit");
  const double chance = chance_of(logit).item();
  Tensor start = logit;
  std::string from = "the logit; with --label it starts at the wrongness";
  if (o.label) {
    const Tensor label = named(tensor({static_cast<double>(*o.label)}, i32), "label");
    start = named(binary_cross_entropy_with_logits(logit, label), "loss");
    from = fmt::format("the wrongness, {:.4f} for tick {}", start.item(), *o.label);
  }
  tape.backward(start);

  if (!o.quiet) {
    console.say("Review: {}\nSlots: {}\n", text, slots_text(model, slots));
    if (slots.known == 0) console.say("No word of it is in the dictionary.\n");
    if (std::isfinite(logit.item()))
      console.say("Verdict: {}, chance {:.4f} of being liked\n", logit.item() > 0 ? "liked" : "hated",
                  chance);
    else
      console.say("Verdict: none, the logit is no finite number\n");
    console.say("Blame starts at {}.\n\n", from);
  }
  const DumpOptions dumped{.glossary = o.glossary, .fold = o.fold};
  if (const std::string asked = answers(o, tape, start, model); !asked.empty())
    console.out << asked;
  else
    dump(tape, dumped, [&](std::string_view piece) { console.out << piece; });

  if (o.html)
    write_file(*o.html, html(tape, {.title = text,
                                    .glossary = o.glossary,
                                    .fold = o.fold > 0 ? o.fold : -1,
                                    .words = words_of(model, slots)}));
  if (o.dot) write_file(*o.dot, dot(tape, {.glossary = o.glossary, .fold = o.fold}));
  if (o.dump_json) write_file(*o.dump_json, dump_json(tape, dumped));
  return 0;
}

}  // namespace pencil::imdb
