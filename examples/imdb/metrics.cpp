#include "examples/imdb/metrics.hpp"

#include <nlohmann/json.hpp>

#include "autograd/kernels/threads.hpp"

namespace pencil::imdb {
namespace {

using json = nlohmann::ordered_json;

json path_or_null(const std::optional<fs::path>& path) { return path ? json(path->string()) : json(nullptr); }

json settings_of(const TrainOptions& o) {
  const ClassifierOptions& c = o.model.classifier;
  json j;
  j["data"] = o.data ? o.data->string() : "built-in pile (synthetic)";
  j["test"] = path_or_null(o.test);
  j["validation"] = path_or_null(o.validation);
  j["validation_split"] = o.validation_split ? json(*o.validation_split) : json(nullptr);
  j["arch"] = c.arch == Arch::bag ? "bag" : "attention";
  j["epochs"] = o.epochs;
  j["batch_size"] = o.batch_size;
  j["vocab_size"] = c.vocabulary;
  j["max_len"] = o.model.max_len;
  j["width"] = c.width;
  j["heads"] = c.heads;
  j["key_dim"] = c.key_width;
  j["hidden"] = c.hidden;
  j["dropout"] = c.dropout;
  j["learning_rate"] = o.learning_rate;
  j["seed"] = c.seed;
  j["threads"] = kernels::threads();
  j["keep"] = o.model.keep_last ? "last" : "first";
  j["positions"] = c.positions;
  j["mask"] = c.mask;
  j["init"] = c.init == nn::Init::keras ? "keras" : "keras-legacy";
  j["drop_breaks"] = o.model.drop_breaks;
  j["skip_bad"] = o.skip_bad;
  return j;
}

json epoch_of(const EpochResult& e) {
  json j;
  j["epoch"] = e.epoch;
  j["train_loss"] = e.train.loss;
  j["train_accuracy"] = e.train.accuracy;
  if (e.validation) {
    j["validation_loss"] = e.validation->loss;
    j["validation_accuracy"] = e.validation->accuracy;
  }
  j["test_loss"] = e.test.loss;
  j["test_accuracy"] = e.test.accuracy;
  j["train_seconds"] = e.train_seconds;
  j["test_seconds"] = e.test.seconds;
  return j;
}

}  // namespace

const EpochResult* best_epoch(const std::vector<EpochResult>& epochs) {
  const auto judged = [](const EpochResult& e) {
    return e.validation ? *e.validation : optim::Evaluation{e.test.loss, e.test.accuracy};
  };
  const EpochResult* best = nullptr;
  for (const EpochResult& epoch : epochs)
    if (best == nullptr || optim::better(judged(epoch), judged(*best))) best = &epoch;
  return best;
}

std::string metrics_json(const TrainOptions& options, const TrainResult& result) {
  json j;
  j["settings"] = settings_of(options);
  j["parameters"] = result.parameters;
  j["epochs"] = json::array();
  for (const EpochResult& epoch : result.epochs) j["epochs"].push_back(epoch_of(epoch));
  j["best"] = nullptr;
  if (const EpochResult* best = best_epoch(result.epochs)) {
    j["best"] = epoch_of(*best);
    j["best"]["by"] = best->validation ? "validation" : "test";
  }
  j["seconds"] = result.seconds;
  return j.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::vector<Chart> charts_of(std::string_view metrics) {
  const json j = json::parse(metrics, nullptr, false);
  const auto epochs = j.is_object() ? j.find("epochs") : j.end();
  if (!j.is_object() || epochs == j.end() || !epochs->is_array())
    fail(
        "[curves] the text is no metrics file: need a JSON object with epochs, as imdb train --metrics "
        "writes");
  std::vector<Chart> charts;
  for (const std::string what : {"loss", "accuracy"}) {
    Chart chart{.title = what, .x = "epoch", .curves = {}};
    for (const std::string pile : {"train", "validation", "test"}) {
      Curve curve{pile, {}, {}};
      for (const json& epoch : *epochs) {
        const auto y = epoch.find(pile + "_" + what);
        if (y == epoch.end() || !y->is_number()) continue;  // NaN is written as null
        curve.x.push_back(epoch.value("epoch", static_cast<double>(curve.x.size() + 1)));
        curve.y.push_back(y->get<double>());
      }
      if (!curve.x.empty()) chart.curves.push_back(std::move(curve));
    }
    charts.push_back(std::move(chart));
  }
  return charts;
}

}  // namespace pencil::imdb
