#include <algorithm>
#include <chrono>
#include <utility>

#include "autograd/autograd.hpp"
#include "autograd/kernels/threads.hpp"
#include "examples/imdb/commands.hpp"
#include "examples/imdb/data.hpp"
#include "examples/imdb/metrics.hpp"
#include "examples/imdb/output.hpp"
#include "examples/imdb/progress.hpp"
#include "examples/imdb/report.hpp"
#include "optim/optim.hpp"

namespace pencil::imdb {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Nobody who names the reviews under --save wants them replaced by a model.
void check_is_no_input(const TrainOptions& o, const std::optional<fs::path>& path, const char* option) {
  if (!path) return;
  for (const auto& [input, name] :
       {std::pair(&o.data, "data"), {&o.test, "test"}, {&o.validation, "validation"}}) {
    std::error_code ignored;
    if (*input && fs::equivalent(*path, **input, ignored))
      throw UsageError(fmt::format("imdb train: --{} and --{} name the same file, {} (imdb train --help)",
                                   option, name, path->string()));
  }
}

std::string epoch_line(const EpochResult& e, int epochs) {
  std::string line = fmt::format("Epoch {}/{}: train loss {:.4f} accuracy {:.4f}", e.epoch, epochs,
                                 e.train.loss, e.train.accuracy);
  if (e.validation)
    line +=
        fmt::format("  validation loss {:.4f} accuracy {:.4f}", e.validation->loss, e.validation->accuracy);
  return line + fmt::format("  test loss {:.4f} accuracy {:.4f}  ({:.1f} s + {:.1f} s)\n", e.test.loss,
                            e.test.accuracy, e.train_seconds, e.test.seconds);
}

class Training {
 public:
  Training(const TrainOptions& options, Console& console)
      : o_(options),
        console_(console),
        data_(read_training_data(options, console)),
        model_{options.model, std::move(data_.dictionary), Classifier(options.model.classifier)} {}

  int run() {
    result_.parameters = nn::parameter_count(model_.classifier);
    // The summary runs the model once, on a batch as there will be.
    const std::int64_t batch = std::min(o_.batch_size, data_.study.size());
    if (!o_.quiet) console_.say("{}\n", nn::summary(model_.classifier, {batch, o_.model.max_len}));
    if (!console_.stop()) fitted_ = learn();
    result_.seconds = seconds_since(start_);
    const bool interrupted = fitted_.stopped || fitted_.steps == 0;
    if (!o_.quiet) conclude();
    if (o_.save && fitted_.steps > 0) save(interrupted);
    if (o_.metrics) write_file(*o_.metrics, metrics_json(o_, result_));
    if (o_.report)
      write_file(*o_.report, training_report(model_.classifier, data_.study, o_, result_, flow_));
    if (interrupted) say_interrupted();
    return interrupted ? 130 : 0;
  }

 private:
  optim::FitResult learn() {
    Classifier& classifier = model_.classifier;
    optim::Adam adam{
        nn::parameters(classifier), {.learning_rate = o_.learning_rate}, {.norms = o_.report.has_value()}};
    Progress progress(console_, data_.study.size(), o_.quiet);
    optim::FitOptions options{.items = data_.study.size(),
                              .loss = [&](optim::Batch items) -> optim::BatchLoss {
                                const LabelledBatch batch = gather_batch(data_.study, items);
                                const Tensor logits = classifier(batch.tokens);
                                const Tensor loss = binary_cross_entropy_with_logits(logits, batch.labels);
                                return {loss, static_cast<double>(count_right(logits, batch.labels)) /
                                                  static_cast<double>(items.size())};
                              },
                              .mode = [&](bool training) { classifier.train(training); },
                              .on_step =
                                  [&](optim::StepProgress& step) {
                                    progress.step(step);
                                    if (o_.report && step.step == step.steps)
                                      flow_ = to_string(flow(step.tape, step.report));
                                    step.stop = console_.stop();
                                  },
                              .on_epoch =
                                  [&](optim::EpochProgress& epoch) {
                                    finish_epoch(epoch, progress);
                                    epoch.stop = console_.stop() && epoch.report.epoch < epoch.epochs;
                                  },
                              .epochs = o_.epochs,
                              .batch_size = o_.batch_size,
                              .seed = o_.model.classifier.seed,
                              .tape = {.keep = Keep::leaves, .stop_on_nonfinite = o_.guard}};
    if (data_.validation) {
      options.evaluate = [&] {
        const Judgement judgement = judge(classifier, *data_.validation);
        return optim::Evaluation{judgement.loss, judgement.accuracy};
      };
      options.keep_best = true;
    }
    return optim::fit(adam, options);
  }

  void finish_epoch(const optim::EpochProgress& epoch, Progress& progress) {
    result_.epochs.push_back({.epoch = epoch.report.epoch,
                              .train = epoch.report.train,
                              .validation = epoch.report.validation,
                              .test = judge(model_.classifier, data_.exam),
                              .train_seconds = epoch.report.train_seconds});
    progress.clear();
    if (!o_.quiet) console_.say("{}", epoch_line(result_.epochs.back(), epoch.epochs));
  }

  void conclude() {
    if (const EpochResult* best = best_epoch(result_.epochs))
      console_.say("Best epoch: {} by {} accuracy (test accuracy {:.4f})\n", best->epoch,
                   best->validation ? "validation" : "test", best->test.accuracy);
    console_.say("Total time: {:.1f} s\n", result_.seconds);
    if (o_.model.synthetic && !result_.epochs.empty())
      console_.say("These are results on synthetic reviews; they say nothing about real ones.\n");
  }

  void save(bool interrupted) {
    save_model(model_, *o_.save);
    if (o_.quiet) return;
    const char* what = interrupted ? "the weights as they are now" : "the last epoch";
    console_.say("Saved to {}: {}\n", o_.save->string(),
                 data_.validation && fitted_.best > 0
                     ? fmt::format("epoch {}, the best by validation", fitted_.best)
                     : what);
  }

  void say_interrupted() {
    const std::string ending =
        fitted_.steps == 0
            ? (o_.save ? "before the first step; nothing was learned and nothing saved"
                       : "before the first step")
            : fmt::format("after step {}{}", fitted_.steps, o_.save ? "; the model is saved" : "");
    console_.err << fmt::format("imdb train: interrupted, ended {}\n", ending);
  }

  const TrainOptions& o_;
  Console& console_;
  Clock::time_point start_ = Clock::now();
  TrainingData data_;
  Model model_;
  TrainResult result_;
  optim::FitResult fitted_;
  std::string flow_;  // of the last epoch's last step
};

}  // namespace

int train(const TrainOptions& options, Console& console) {
  for (const auto& [path, option] :
       {std::pair(&options.save, "save"), {&options.metrics, "metrics"}, {&options.report, "report"}}) {
    check_is_no_input(options, *path, option);
    check_can_be_written(*path, option);
  }
  if (options.threads > 0) kernels::set_threads(options.threads);
  return Training(options, console).run();
}

}  // namespace pencil::imdb
