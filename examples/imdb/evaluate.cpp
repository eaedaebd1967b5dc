#include <nlohmann/json.hpp>

#include "autograd/kernels/threads.hpp"
#include "examples/imdb/commands.hpp"
#include "examples/imdb/data.hpp"
#include "examples/imdb/reader.hpp"

namespace pencil::imdb {
namespace {

void print_json(const Judgement& judgement, std::int64_t reviews, Console& console) {
  const auto row = [&](std::size_t label) {
    return nlohmann::ordered_json{{"judged_liked", judgement.table[label][1]},
                                  {"judged_hated", judgement.table[label][0]}};
  };
  nlohmann::ordered_json j;
  j["reviews"] = reviews;
  j["accuracy"] = judgement.accuracy;
  j["loss"] = judgement.loss;
  j["confusion"] = {{"liked", row(1)}, {"hated", row(0)}};
  j["seconds"] = judgement.seconds;
  console.say("{}\n", j.dump());
}

void print_table(const Judgement& judgement, Console& console) {
  console.say("\n{:>20} {:>12} {:>12}\n", "", "judged liked", "judged hated");
  for (const std::size_t label : {1u, 0u})
    console.say("{:>20} {:>12} {:>12}\n", label == 1 ? "really liked" : "really hated",
                with_commas(judgement.table[label][1]), with_commas(judgement.table[label][0]));
}

}  // namespace

int evaluate(const EvaluateOptions& o, Console& console) {
  if (o.threads > 0) kernels::set_threads(o.threads);
  const Model model = load_model(o.model);
  Reading reading = read_reviews(o.data, Part::test, {.skip_bad = o.skip_bad});
  const bool talk = !o.json && !o.quiet;
  if (talk) {
    if (model.settings.synthetic)
      console.say("This model learned from synthetic reviews only (the built-in pile).\n");
    console.say("{}Exam: {}\n", oddities_of(reading), counts_of(reading.reviews));
  }
  const Encoded reviews = encode(std::move(reading.reviews), model.dictionary, model.settings);
  const Judgement judgement = judge(model.classifier, reviews);
  check_finite(judgement.loss, "[evaluate] the loss");
  if (o.json) {
    print_json(judgement, reviews.size(), console);
  } else {
    console.say("Accuracy {:.4f}, loss {:.4f}\n", judgement.accuracy, judgement.loss);
    if (talk) print_table(judgement, console);
  }
  return 0;
}

}  // namespace pencil::imdb
