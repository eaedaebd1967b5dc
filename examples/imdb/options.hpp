#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"
#include "examples/imdb/arguments.hpp"
#include "examples/imdb/model_file.hpp"

namespace pencil::imdb {

namespace fs = std::filesystem;

struct TrainOptions {
  std::optional<fs::path> data;  ///< none: the built-in pile
  std::optional<fs::path> test, validation;
  std::optional<double> validation_split;
  ModelSettings model;  ///< with the seed of everything
  int epochs = 5;
  std::int64_t batch_size = 64;
  double learning_rate = 0.001;
  int threads = 0;  ///< 0: as many as there are
  bool skip_bad = false;
  bool guard = false;  ///< stop at the first number that is not finite
  std::optional<fs::path> save, metrics, report;
  bool quiet = false;
};

struct EvaluateOptions {
  fs::path model, data;
  bool skip_bad = false, json = false, quiet = false;
  int threads = 0;
};

struct PredictOptions {
  fs::path model;
  std::optional<std::string> text;  ///< none: a review a line on standard input
  bool json = false, quiet = false;
};

struct ExplainOptions {
  fs::path model;
  std::string text;
  std::optional<int> label;
  Glossary glossary = Glossary::pencil;
  Detail detail = Detail::steps;
  int fold = 0;         ///< one line for each module this deep; 0: a line a step
  bool pencil = false;  ///< arithmetic is rounded as with a pencil
  int depth = 1;        ///< how far a number's inputs are followed
  // What is asked for instead of the whole tape.
  std::optional<NumberAt> number, ledger;
  std::optional<std::string> why;
  // What is written besides.
  std::optional<fs::path> html, dot, dump_json;
  bool quiet = false;
};

struct CurvesOptions {
  fs::path metrics, svg;
  std::string what;  ///< "loss" or "accuracy"
  bool quiet = false;
};

struct GlossaryOptions {
  bool quiet = false;
};

/// A text to print instead of work: help, or the version.
struct Answer {
  std::string text;
};

using Command = std::variant<Answer, TrainOptions, EvaluateOptions, PredictOptions, ExplainOptions,
                             CurvesOptions, GlossaryOptions>;

/// Reads the words behind the program's name. Throws UsageError.
Command parse_command(std::span<const std::string> words);

}  // namespace pencil::imdb
