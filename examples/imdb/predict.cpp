#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "autograd/autograd.hpp"
#include "examples/imdb/commands.hpp"
#include "examples/imdb/judge.hpp"
#include "examples/imdb/listening.hpp"
#include "examples/imdb/pile.hpp"
#include "nn/text/utf8.hpp"

namespace pencil::imdb {
namespace {

struct Prediction {
  std::string text;
  double chance = 0;
  Slots slots;
  Listening listening;

  const char* verdict() const { return chance > 0.5 ? "liked" : "hated"; }
};

Prediction judge_text(const Model& model, std::string text) {
  nn::text::replace_broken_bytes(text);
  Prediction p;
  p.text = std::move(text);
  p.slots = slots_of(model, p.text);
  const double logit = model.classifier(p.slots.tokens()).item();
  check_finite(logit, "[predict] the logit");
  p.chance = 1 / (1 + std::exp(-logit));
  p.listening = listening_of(model, p.slots);
  return p;
}

std::string json_line(const Model& model, const Prediction& p) {
  nlohmann::ordered_json j;
  j["verdict"] = p.verdict();
  j["chance"] = p.chance;
  j["known_words"] = p.slots.known;
  if (model.classifier.attend) {
    j["words"] = nlohmann::ordered_json::array();
    for (const Listened& each : p.listening.words)
      j["words"].push_back({{"word", each.word}, {"count", each.count}, {"fraction", each.fraction}});
    j["padding"] = p.listening.padding;
  }
  j["text"] = p.text;
  return j.dump() + "\n";
}

std::string plain_line(const Model& model, const Prediction& p, bool quiet) {
  std::string line = fmt::format("{}  chance {:.4f}", p.verdict(), p.chance);
  if (quiet) return line + "\n";
  if (p.slots.known == 0) return line + "  no known word in it\n";
  if (!model.classifier.attend) return line + "  a bag has no attention\n";
  constexpr std::size_t most = 5;
  line += "  listened to:";
  for (std::size_t i = 0; i < p.listening.words.size() && i < most; ++i) {
    const Listened& each = p.listening.words[i];
    line += fmt::format(" {}{} {:.3f},", each.word, each.count > 1 ? fmt::format(" (×{})", each.count) : "",
                        each.fraction);
  }
  return line + fmt::format(" padding {:.3f}\n", p.listening.padding);
}

}  // namespace

int predict(const PredictOptions& o, Console& console) {
  if (!o.text && console.in_is_terminal)
    throw UsageError(
        "imdb predict: there is no text, and standard input is a terminal (imdb predict --help)");
  const Model model = load_model(o.model);
  if (model.settings.synthetic && !o.quiet)
    console.err << "This model learned from synthetic reviews only (the built-in pile).\n" << std::flush;
  const auto show = [&](std::string text) {
    const Prediction p = judge_text(model, std::move(text));
    console.say("{}", o.json ? json_line(model, p) : plain_line(model, p, o.quiet));
  };
  if (o.text) {
    show(*o.text);
    return 0;
  }
  for (std::string line; console.out && std::getline(console.in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    show(line);
  }
  if (console.in.bad()) fail("[predict] cannot read standard input");
  return 0;
}

}  // namespace pencil::imdb
