#pragma once

#include "examples/imdb/console.hpp"
#include "examples/imdb/options.hpp"

namespace pencil::imdb {

// Each does its work and returns the exit status; what fails is thrown.
int train(const TrainOptions& options, Console& console);
int evaluate(const EvaluateOptions& options, Console& console);
int predict(const PredictOptions& options, Console& console);
int explain(const ExplainOptions& options, Console& console);
int curves(const CurvesOptions& options, Console& console);
int glossary(const GlossaryOptions& options, Console& console);

/// The whole program but for the process: reads the words behind its name, runs the command, turns what is
/// thrown into one line on console.err. Returns the exit status: 0; 1 for work that failed; 2 for wrong
/// usage; 130 after Ctrl-C.
int run(std::span<const std::string> words, Console& console);

}  // namespace pencil::imdb
