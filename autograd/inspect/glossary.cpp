#include "autograd/inspect/glossary.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace pencil {

namespace {

//  textbook, pencil, sketchbook, comment, keys (roles and op words)
constexpr auto terms = std::to_array<Term>({
    {"token number", "slot number", "", "a word's place in the dictionary", "tokens"},
    {"vocabulary", "dictionary", "", "the most common words", ""},
    {"pad", "fill", "", "zeros up to the number of slots", "pad"},
    {"truncate", "chop", "", "what does not fit the slots", ""},
    {"embedding table", "TABLE", "table", "one row a word", "embedding weight"},
    {"embedding vector", "STICK", "point", "a word's row of the table", "stick"},
    {"sequence of embeddings", "SHEET", "the note's points", "one row a word of the review", "embedding"},
    {"weight matrix", "grid", "floor", "one row an output number: shape (out, in)", "weight"},
    {"bias", "nudge", "", "added to what a grid gives", "bias"},
    {"query", "WANT", "ask", "what am I looking for?", "query"},
    {"key", "HAVE", "match", "what do I offer to lookers?", "key"},
    {"value", "GIVE", "carry", "what do I hand over if picked?", "value"},
    {"query weight matrix", "WANT-grid", "ask floor", "", "query weight"},
    {"key weight matrix", "HAVE-grid", "match floor", "", "key weight"},
    {"value weight matrix", "GIVE-grid", "carry floor", "", "value weight"},
    {"query bias", "WANT-nudge", "", "", "query bias"},
    {"key bias", "HAVE-nudge", "",
     "its gradient is 0: added to all scores of a row alike, it leaves the softmax as it was", "key bias"},
    {"value bias", "GIVE-nudge", "", "", "value bias"},
    {"q·k", "MATCH", "dot", "one number for each pair of words", "scores"},
    {"scaled scores", "SCALE", "look", "divided by sqrt(width), a fixed number and no statistic", "scale"},
    {"exp of the scores", "BLOW UP BY e", "", "the softmax recipe, first half", "blow_up"},
    {"sum of the exps", "TOTAL", "", "the softmax recipe: what each is divided by", "total"},
    {"softmax", "SOFTMAX", "squash", "fractions that share 1", "softmax"},
    {"attention weights", "FRACTIONS", "slices", "they add to exactly 1", "weights|attention_weights"},
    {"attention output", "NEW STICK", "mix", "fractions times GIVE, added up", "mix|attention"},
    {"self-attention", "the sheet looks at itself", "tokens looking at this note", "", ""},
    {"head", "team", "one of many looks", "its own grids for WANT, HAVE and GIVE", "head"},
    {"concatenated heads", "GLUE", "", "side by side", "glue"},
    {"output projection", "BLEND", "", "from the glued width back to the stick's; a word of ours", "blend"},
    {"output weight matrix", "BLEND-grid", "", "", "blend weight"},
    {"output bias", "BLEND-nudge", "", "", "blend bias"},
    {"positional encoding", "POSITION MARK", "positions", "sines and cosines, added before attention",
     "position"},
    {"causal mask", "future words masked out", "look left only", "", "causal"},
    {"cross-attention", "WANT from one sheet, HAVE and GIVE from another", "", "", ""},
    {"global average pooling", "COLLAPSE", "bag", "all sticks to one summary stick, number by number",
     "collapse"},
    {"dense layer", "WORKERS", "tiny net", "multiply, add, nudge", "workers|linear"},
    {"relu", "keep positives", "", "", "relu"},
    {"sigmoid", "crush to 0..1", "", "", "sigmoid"},
    {"tanh", "crush", "", "", "tanh"},
    {"dropout", "zero a random fraction", "", "in practice only, off at the exam", "dropout"},
    {"training mode", "practice", "", "", ""},
    {"evaluation mode", "exam", "", "", ""},
    {"logit", "", "", "the verdict before it is crushed to a chance", "logit"},
    {"probability", "CHANCE", "", "of being liked", "probability"},
    {"prediction", "VERDICT", "", "1 liked, 0 not", "prediction"},
    {"label", "TICK", "", "what the reader said: 1 liked, 0 not", "label"},
    {"loss", "WRONGNESS", "leftover", "−log(chance given to the true tick)",
     "loss|binary_cross_entropy|binary_cross_entropy_with_logits|cross_entropy"},
    {"gradient", "BLAME", "leftover",
     "how far a number is to blame for the wrongness; a word of ours (the sketchbook: the leftover walks "
     "home)",
     ""},
    {"parameter", "dial", "knob", "what training turns", "parameter"},
    {"Adam", "downhill-roller", "", "", ""},
    {"training set", "study pile", "", "", ""},
    {"test set", "exam pile", "", "", ""},
    {"mini-batch", "handful", "", "", ""},
    {"epoch", "pass", "", "", ""},
    {"RNN", "walking machine", "", "", ""},
    {"hidden state", "memory", "", "what the walking machine carries", ""},
    {"recurrent step", "rewrite", "", "of the memory, once a word", ""},
    {"LSTM, its cell state", "the vault", "", "", ""},
    {"vanishing gradient", "fade", "", "", ""},
});

const Term* find(std::string_view key) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const Term*> by_key;
    for (const Term& term : terms)
      for (std::string_view rest = term.keys; !rest.empty();) {
        const std::size_t bar = std::min(rest.find('|'), rest.size());
        by_key.emplace(rest.substr(0, bar), &term);
        rest.remove_prefix(std::min(bar + 1, rest.size()));
      }
    return by_key;
  }();
  const auto found = index.find(key);
  return found == index.end() ? nullptr : found->second;
}

// What a parameter is, from the last part of its name: "attend.query.weight" is a weight.
std::string_view last_part(std::string_view name) { return name.substr(name.find_last_of('.') + 1); }

const Term* term_of_parameter(const Step& step) {
  const std::string_view part = last_part(step.name());
  if (part != "weight" && part != "bias") return find("parameter");
  if (!step.role().empty())
    if (const Term* term = find(std::string(step.role()) + " " + std::string(part))) return term;
  return find(part);
}

}  // namespace

std::string_view name_of(Glossary glossary) {
  return glossary == Glossary::pencil       ? "pencil"
         : glossary == Glossary::sketchbook ? "sketchbook"
                                            : "textbook";
}

std::optional<Glossary> glossary_named(std::string_view name) {
  for (const Glossary glossary : {Glossary::pencil, Glossary::sketchbook, Glossary::textbook})
    if (name == name_of(glossary)) return glossary;
  return std::nullopt;
}

std::span<const Term> glossary_terms() { return terms; }

std::string_view translated(std::string_view textbook, Glossary glossary) {
  const auto found = std::ranges::find(terms, textbook, &Term::textbook);
  return found == terms.end() ? textbook : found->in(glossary);
}

std::string_view word_of(const Step& step, Glossary glossary) {
  if (step.kind() == StepKind::parameter) return term_of_parameter(step)->in(glossary);
  if (step.kind() != StepKind::op) return step.word();
  const std::string_view key = step.role().empty() ? step.word() : step.role();
  const Term* term = find(key);
  return term ? term->in(glossary) : key;
}

std::string_view word_of(std::string_view key, Glossary glossary) {
  const Term* term = find(key);
  return term ? term->in(glossary) : translated(key, glossary);
}

}  // namespace pencil
