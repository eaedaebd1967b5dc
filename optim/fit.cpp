#include "optim/fit.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <utility>

#include "autograd/random.hpp"

namespace pencil::optim {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check(const FitOptions& options) {
  if (!options.loss) fail("[fit] there is no loss to train on");
  if (options.items < 1) fail("[fit] there are {} items; need at least 1", options.items);
  if (options.batch_size < 1) fail("[fit] the batch size is {}; need at least 1", options.batch_size);
  if (options.epochs < 0) fail("[fit] {} epochs; need 0 or more", options.epochs);
  if (options.keep_best && !options.evaluate)
    fail("[fit] keep_best needs evaluate: nothing else says which epoch is best");
}

/// Practice mode for as long as it lives.
class Practice {
 public:
  explicit Practice(const std::function<void(bool)>& mode) : mode_(mode) {
    if (mode_) mode_(true);
  }
  Practice(const Practice&) = delete;
  Practice& operator=(const Practice&) = delete;
  ~Practice() {
    try {
      end();
    } catch (...) {  // the exception already under way says more
    }
  }
  void end() {
    if (std::exchange(ended_, true) || !mode_) return;
    mode_(false);
  }

 private:
  const std::function<void(bool)>& mode_;
  bool ended_ = false;
};

/// Means over batches, weighted by their size.
struct Sums {
  double loss = 0, accuracy = 0;
  std::int64_t items = 0;

  void add(const Evaluation& batch, std::int64_t n) {
    loss += batch.loss * static_cast<double>(n);
    accuracy += batch.accuracy * static_cast<double>(n);
    items += n;
  }
  Evaluation mean() const {
    return {loss / static_cast<double>(items), accuracy / static_cast<double>(items)};
  }
};

class Training {
 public:
  Training(Optimizer& optimizer, const FitOptions& options) : optimizer_(optimizer), options_(options) {}

  FitResult run() {
    zero_grad(optimizer_.parameters());
    for (int epoch = 1; epoch <= options_.epochs && !result_.stopped; ++epoch) {
      EpochReport report{.epoch = epoch, .train = {}, .validation = {}};
      if (!train(report)) break;
      judge(report);
    }
    if (options_.keep_best)
      for (std::size_t i = 0; i < best_weights_.size(); ++i) {
        Tensor parameter = optimizer_.parameters()[i];
        parameter.assign(best_weights_[i]);
      }
    return std::move(result_);
  }

 private:
  /// One pass over the items. False if a callback ended it before its last step.
  bool train(EpochReport& report) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<std::int64_t> order = order_of(report.epoch);
    Practice practice(options_.mode);
    Sums sums;
    const std::int64_t steps = (options_.items - 1) / options_.batch_size + 1;
    for (std::int64_t step = 1; step <= steps; ++step) {
      const std::int64_t n = std::min(options_.batch_size, options_.items - sums.items);
      const Batch batch =
          Batch(order).subspan(static_cast<std::size_t>(sums.items), static_cast<std::size_t>(n));
      Tape tape(options_.tape);
      const BatchLoss judged = options_.loss(batch);
      const Evaluation means{checked(judged.loss, report.epoch, step), judged.accuracy};
      tape.backward(judged.loss);
      const StepReport stepped = optimizer_.step();
      ++result_.steps;
      sums.add(means, n);
      if (!options_.on_step) continue;
      StepProgress progress{.epoch = report.epoch,
                            .epochs = options_.epochs,
                            .step = step,
                            .steps = steps,
                            .items_done = sums.items,
                            .batch = means,
                            .mean = sums.mean(),
                            .report = stepped,
                            .tape = tape};
      options_.on_step(progress);
      if (!progress.stop) continue;
      result_.stopped = true;
      if (step < steps) break;
    }
    practice.end();
    if (sums.items < options_.items) return false;
    report.train = sums.mean();
    report.train_seconds = seconds_since(start);
    return true;
  }

  std::vector<std::int64_t> order_of(int epoch) const {
    if (options_.shuffle) return shuffled(options_.items, options_.seed, epoch);
    std::vector<std::int64_t> order(static_cast<std::size_t>(options_.items));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    return order;
  }

  static double checked(const Tensor& loss, int epoch, std::int64_t step) {
    if (!loss.defined() || loss.size() != 1)
      fail("[fit] the loss of a batch has shape {}; need one number, its mean",
           loss.defined() ? to_string(loss.shape()) : "none");
    if (!std::isfinite(loss.item()))
      fail("[fit] the loss is {} in epoch {}, step {}", loss.item(), epoch, step);
    return loss.item();
  }

  /// Evaluates, notes the best epoch, tells the callback.
  void judge(EpochReport& report) {
    if (options_.evaluate) {
      const auto start = std::chrono::steady_clock::now();
      report.validation = options_.evaluate();
      report.validation_seconds = seconds_since(start);
      report.best = result_.best == 0 || better(*report.validation, best_);
      if (report.best) best_ = *report.validation;
    } else {
      report.best = true;
    }
    if (report.best) {
      result_.best = report.epoch;
      if (options_.keep_best) {
        std::vector<Tensor> weights;
        for (const Tensor& parameter : optimizer_.parameters()) weights.push_back(copy(parameter));
        best_weights_ = std::move(weights);
      }
    }
    result_.epochs.push_back(report);
    if (!options_.on_epoch) return;
    EpochProgress progress{.report = result_.epochs.back(), .epochs = options_.epochs};
    options_.on_epoch(progress);
    result_.stopped = result_.stopped || progress.stop;
  }

  Optimizer& optimizer_;
  const FitOptions& options_;
  FitResult result_;
  Evaluation best_;
  std::vector<Tensor> best_weights_;
};

}  // namespace

bool better(const Evaluation& a, const Evaluation& b) {
  if (std::isnan(a.loss)) return false;
  if (std::isnan(b.loss)) return true;
  if (a.accuracy > b.accuracy) return true;
  if (a.accuracy < b.accuracy) return false;
  return a.loss < b.loss;
}

FitResult fit(Optimizer& optimizer, const FitOptions& options) {
  check(options);
  return Training(optimizer, options).run();
}

std::vector<std::int64_t> shuffled(std::int64_t n, std::uint64_t seed, int epoch) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Rng rng(mix(seed) + static_cast<std::uint64_t>(epoch));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}

}  // namespace pencil::optim
