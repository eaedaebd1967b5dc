#pragma once

#include <optional>
#include <vector>

#include "examples/imdb/judge.hpp"
#include "examples/imdb/options.hpp"
#include "optim/fit.hpp"

namespace pencil::imdb {

/// What one epoch came to, on all piles.
struct EpochResult {
  int epoch = 0;
  optim::Evaluation train;
  std::optional<optim::Evaluation> validation;
  Judgement test;
  double train_seconds = 0;
};

struct TrainResult {
  std::int64_t parameters = 0;
  std::vector<EpochResult> epochs;
  double seconds = 0;
};

/// The best epoch: by validation where there is one, else by the test (for information only; nothing is
/// chosen by it). Null where no epoch was completed.
const EpochResult* best_epoch(const std::vector<EpochResult>& epochs);

/// Writes settings and results as one JSON object. Throws Error with the path.
void write_metrics(const fs::path& path, const TrainOptions& options, const TrainResult& result);

}  // namespace pencil::imdb
