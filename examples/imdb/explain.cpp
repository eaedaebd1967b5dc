#include <cmath>
#include <string>

#include "autograd/autograd.hpp"
#include "autograd/inspect/dump.hpp"
#include "examples/imdb/commands.hpp"
#include "examples/imdb/listening.hpp"
#include "nn/text/utf8.hpp"

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

}  // namespace

int explain(const ExplainOptions& o, Console& console) {
  const Model model = load_model(o.model);
  std::string text = o.text;
  nn::text::replace_broken_bytes(text);
  const Slots slots = slots_of(model, text);

  Tape tape({.detail = Detail::steps});
  const Tensor logit = named(model.classifier(named(slots.tokens(), "tokens")), "logit");
  const double chance = chance_of(logit).item();
  std::string start = "the logit; with --label it starts at the wrongness";
  if (o.label) {
    const Tensor label = named(tensor({static_cast<double>(*o.label)}, i32), "label");
    const Tensor loss = named(binary_cross_entropy_with_logits(logit, label), "loss");
    tape.backward(loss);
    start = fmt::format("the wrongness, {:.4f} for tick {}", loss.item(), *o.label);
  } else {
    tape.backward(logit);
  }
  if (!o.quiet) {
    console.say("Review: {}\nSlots: {}\n", text, slots_text(model, slots));
    if (slots.known == 0) console.say("No word of it is in the dictionary.\n");
    if (std::isfinite(logit.item()))
      console.say("Verdict: {}, chance {:.4f} of being liked\n", chance > 0.5 ? "liked" : "hated", chance);
    else
      console.say("Verdict: none, the logit is no finite number\n");
    console.say("Blame starts at {}.\n\n", start);
  }
  dump(tape, {}, [&](std::string_view piece) { console.out << piece; });
  return 0;
}

}  // namespace pencil::imdb
