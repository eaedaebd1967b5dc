#pragma once

#include <string>

#include "examples/imdb/judge.hpp"
#include "examples/imdb/metrics.hpp"
#include "examples/imdb/options.hpp"

namespace pencil::imdb {

/// A page for the browser on a training that is over: its curves, how blame flowed in the last step (`flow`),
/// and the tape of one more step, on the first reviews of the study pile, with the time each of its steps
/// took. That step changes no weight and leaves no gradient.
std::string training_report(Classifier& classifier, const Encoded& study, const TrainOptions& options,
                            const TrainResult& result, const std::string& flow);

}  // namespace pencil::imdb
