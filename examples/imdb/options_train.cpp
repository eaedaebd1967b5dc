#include "examples/imdb/options_parts.hpp"
#include "examples/imdb/pile.hpp"

namespace pencil::imdb {

const Usage train_usage{
    "train", "imdb train [OPTIONS]",
    "Learns from reviews and shows how well it does on others. Without --data it learns from the built-in "
    "pile\n"
    "of synthetic reviews, with the settings made for it where no option says otherwise: --epochs 40\n"
    "--max-len 32 --positions.\n"};
namespace {

po::options_description train_options() {
  po::options_description options = empty_options();
  options.add_options()("data", value("PATH"),
                        "reviews to learn from: the aclImdb folder, or a CSV, TSV or JSON Lines file")(
      "test", value("PATH"),
      "reviews to be judged by [the folder's test part, or a fifth of the single file]")(
      "validation", value("PATH"), "reviews by which the best epoch is chosen")(
      "validation-split", value("F"), "hold out this share of the reviews for that")(
      "arch", value("NAME"), "attention, or bag: the same without attention [attention]")(
      "preset", value("NAME"),
      "pencil: a model whose tape fits a page (--width 4 --heads 1 --key-dim 4 "
      "--hidden 4 --max-len 8)")("epochs", value("N"), "passes over the reviews [5]")(
      "batch-size", value("N"), "reviews a step [64]")("vocab-size", value("N"),
                                                       "words in the table, with the padding's row [10000]")(
      "max-len", value("N"), "words of a review that are read [100]")(
      "width", value("N"), "numbers a word is made of [32]")("heads", value("N"), "heads of attention [2]")(
      "key-dim", value("N"), "numbers in a head's query, key and value [32]")(
      "hidden", value("N"), "numbers between the two dense layers [20]")(
      "dropout", value("F"), "share of numbers dropped while learning [0.1]")(
      "learning-rate", value("F"), "Adam's [0.001]")("seed", value("N"), "of all that is random [1]")(
      "threads", value("N"), "threads; the result is the same for any number [all]")(
      "keep", value("END"), "which words of a long review are read: first or last [first]")(
      "positions", "add position marks")("no-positions", "add none: the default but for the built-in pile")(
      "mask", "neither look at the padding nor average over it")(
      "init", value("NAME"), "how attention starts: keras, or keras-legacy (before 3.15) [keras]")(
      "drop-breaks", "<br /> leaves no word")("skip-bad",
                                              "leave out rows that cannot be read, and count them")(
      "save", value("FILE"), "save the model: the best epoch by validation if there is one, else the last")(
      "metrics", value("FILE"), "write settings and results as JSON")(
      "report", value("FILE"),
      "write curves, the flow of blame and the time taken as a page for the browser")(
      "guard", "stop at the first number that is not finite, and say where it came from");
  add_common(options);
  return options;
}

void read_model(const Arguments& arguments, ModelSettings& model) {
  ClassifierOptions& c = model.classifier;
  if (arguments.choice("preset", {"pencil"})) {
    c.width = c.key_width = c.hidden = 4;
    c.heads = 1;
    model.max_len = 8;
  }
  set(c.arch, arguments.choice("arch", {"attention", "bag"}));
  set(c.vocabulary, arguments.whole("vocab-size", 2, Limits::vocabulary));
  set(model.max_len, arguments.whole("max-len", 1, Limits::max_len));
  set(c.width, arguments.whole("width", 1, Limits::width));
  set(c.heads, arguments.whole("heads", 1, Limits::heads));
  set(c.key_width, arguments.whole("key-dim", 1, Limits::key_width));
  set(c.hidden, arguments.whole("hidden", 1, Limits::hidden));
  set(c.dropout, arguments.number("dropout", {0, 1, false, true}));
  set(c.seed, arguments.seed("seed"));
  set(model.keep_last, arguments.choice("keep", {"first", "last"}));
  arguments.exclude("positions", "no-positions");
  c.positions =
      arguments.given("positions") || (model.synthetic && pile_settings.positions &&
                                       c.arch == Arch::attention && !arguments.given("no-positions"));
  c.mask = arguments.given("mask") || (model.synthetic && pile_settings.mask);
  set(c.init, arguments.choice("init", {"keras", "keras-legacy"}));
  model.drop_breaks = arguments.given("drop-breaks");
}

TrainOptions read_train(const Arguments& arguments) {
  TrainOptions o;
  arguments.at_most_others(0, "train takes options only");
  set(o.data, arguments, "data");
  set(o.test, arguments, "test");
  set(o.validation, arguments, "validation");
  set(o.save, arguments, "save");
  set(o.metrics, arguments, "metrics");
  set(o.report, arguments, "report");
  o.guard = arguments.given("guard");
  arguments.need_different_files({"save", "metrics", "report"});
  arguments.need_with("test", "data");
  arguments.need_with("validation", "data");
  arguments.exclude("validation", "validation-split");
  set(o.validation_split, arguments.number("validation-split", {0, 1, true, true}));
  if (!o.data) {
    o.model.synthetic = true;
    o.model.max_len = pile_settings.max_len;
    o.epochs = pile_settings.epochs;
    o.batch_size = pile_settings.batch_size;
    o.learning_rate = pile_settings.learning_rate;
  }
  read_model(arguments, o.model);
  set(o.epochs, arguments.whole("epochs", 1, 1'000'000));
  set(o.batch_size, arguments.whole("batch-size", 1, 1'000'000));
  set(o.learning_rate, arguments.number("learning-rate", {0, 1000, true, false}));
  set(o.threads, arguments.whole("threads", 1, 1024));
  o.skip_bad = arguments.given("skip-bad");
  o.quiet = arguments.given("quiet");
  return o;
}

}  // namespace

Command parse_train(std::span<const std::string> words) {
  const po::options_description options = train_options();
  const Arguments arguments(options, words);
  if (auto answer = answer_of(arguments, train_usage, options)) return *answer;
  return read_train(arguments);
}

}  // namespace pencil::imdb
