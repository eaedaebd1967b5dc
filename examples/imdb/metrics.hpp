#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/inspect/curves.hpp"
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

/// Settings and results as one JSON object.
std::string metrics_json(const TrainOptions& options, const TrainResult& result);

/// The curves of such an object: loss and accuracy over the epochs, on each pile. Throws Error where the text
/// is something else.
std::vector<Chart> charts_of(std::string_view metrics);

}  // namespace pencil::imdb
