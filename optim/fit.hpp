#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "autograd/tape.hpp"
#include "optim/optimizer.hpp"

namespace pencil::optim {

/// The numbers of the items in a batch.
using Batch = std::span<const std::int64_t>;

/// The mean loss over a batch, recorded on the tape, and its accuracy where there is such a thing.
struct BatchLoss {
  BatchLoss(Tensor mean_loss,
            double mean_accuracy = std::numeric_limits<double>::quiet_NaN())  // NOLINT: a loss alone will do
      : loss(std::move(mean_loss)), accuracy(mean_accuracy) {}
  Tensor loss;
  double accuracy;
};

/// Means over a pile of items. NaN where there is no accuracy.
struct Evaluation {
  double loss = std::numeric_limits<double>::quiet_NaN();
  double accuracy = std::numeric_limits<double>::quiet_NaN();
};

/// Whether a is better than b: the higher accuracy, or where both are equal or one is missing, the lower
/// loss. A loss that is NaN is never better.
bool better(const Evaluation& a, const Evaluation& b);

/// Where the training stands after a step.
struct StepProgress {
  int epoch = 0;  ///< from 1
  int epochs = 0;
  std::int64_t step = 0;        ///< in this epoch, from 1
  std::int64_t steps = 0;       ///< in an epoch
  std::int64_t items_done = 0;  ///< in this epoch
  Evaluation batch;             ///< this batch, before the step
  Evaluation mean;              ///< all batches of this epoch so far, weighted by their size
  const StepReport& report;
  const Tape& tape;
  bool stop = false;  ///< set it to end the training here
};

/// What an epoch came to.
struct EpochReport {
  int epoch = 0;                         ///< from 1
  Evaluation train;                      ///< means while training, each batch before its step
  std::optional<Evaluation> validation;  ///< after it, where there is an `evaluate`
  bool best = false;                     ///< the best validation so far; without one, the last
  double train_seconds = 0;
  double validation_seconds = 0;
};

/// An epoch's report as `on_epoch` sees it.
struct EpochProgress {
  const EpochReport& report;
  int epochs = 0;
  bool stop = false;  ///< set it to end the training here
};

struct FitOptions {
  std::int64_t items = 0;
  /// The mean loss over the items of a batch. Called under a tape that `fit` opens.
  std::function<BatchLoss(Batch)> loss;
  /// Called after each epoch, where there is one. Choose by it only what may be chosen by it: a validation
  /// pile, not the test.
  std::function<Evaluation()> evaluate = {};
  /// Called with true before an epoch's training and with false behind it, also when something throws:
  /// practice (dropout at work) and exam.
  std::function<void(bool training)> mode = {};
  std::function<void(StepProgress&)> on_step = {};
  /// Called in exam mode.
  std::function<void(EpochProgress&)> on_epoch = {};

  int epochs = 1;
  std::int64_t batch_size = 32;
  /// Each epoch goes through the items in an order of its own, which depends on the seed and the epoch's
  /// number alone.
  bool shuffle = true;
  std::uint64_t seed = 0;
  /// Gives the parameters, at the end, the values they had after the best epoch. Needs `evaluate`. (The
  /// optimizer's moments stay those of the last step.)
  bool keep_best = false;
  TapeOptions tape = {.keep = Keep::leaves};
};

struct FitResult {
  std::vector<EpochReport> epochs;  ///< those that were completed
  int best = 0;            ///< the best one's number, from 1; the last one without `evaluate`; 0 if none
  std::int64_t steps = 0;  ///< also those of an epoch that was not completed
  bool stopped = false;    ///< whether a callback ended it
};

/// Trains: for each epoch, for each batch of the items in that epoch's order, the loss on a new tape,
/// backward, a step. The last batch of an epoch is as short as it must be. Gradients that parameters hold
/// beforehand are cleared.
///
/// Throws Error for options that make no sense, for a loss that is not one finite number (before its
/// backward), and what the callables and the optimizer throw; weights are then as after the last whole step.
FitResult fit(Optimizer& optimizer, const FitOptions& options);

/// 0 … n − 1 in the order of an epoch (Fisher and Yates; Durstenfeld, 1964).
std::vector<std::int64_t> shuffled(std::int64_t n, std::uint64_t seed, int epoch);

}  // namespace pencil::optim
