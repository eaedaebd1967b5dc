#include "examples/imdb/report.hpp"

#include <algorithm>
#include <numeric>

#include "autograd/autograd.hpp"
#include "nn/nn.hpp"
#include "optim/optim.hpp"

namespace pencil::imdb {

std::string training_report(Classifier& classifier, const Encoded& study, const TrainOptions& options,
                            const TrainResult& result, const std::string& flow) {
  std::vector<std::int64_t> items(static_cast<std::size_t>(std::min(options.batch_size, study.size())));
  std::iota(items.begin(), items.end(), 0);
  const LabelledBatch batch = gather_batch(study, items);
  Tape tape({.time = true});
  const Tensor logits = classifier(named(batch.tokens, "tokens"));
  const Tensor loss = named(binary_cross_entropy_with_logits(logits, named(batch.labels, "labels")), "loss");
  tape.backward(loss);
  optim::zero_grad(nn::parameters(classifier));

  std::vector<Note> notes;
  if (!flow.empty()) notes.push_back({"Blame in the last step", flow});
  notes.push_back({"Time of one step", to_string(timing(tape, {}))});
  const std::string title =
      fmt::format("imdb train: {} epoch{}", result.epochs.size(), result.epochs.size() == 1 ? "" : "s");
  return html(tape, {.title = title, .charts = charts_of(metrics_json(options, result)), .notes = notes});
}

}  // namespace pencil::imdb
