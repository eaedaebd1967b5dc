#include "examples/imdb/options.hpp"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string_view>

#include "examples/imdb/pile.hpp"

namespace pencil::imdb {

namespace po = boost::program_options;

namespace {

constexpr const char* overview =
    R"(imdb: learns from film reviews whether they liked the film, and shows how it judges.

Usage: imdb COMMAND [OPTIONS]

  train     learn from reviews
  evaluate  judge reviews whose label is known
  predict   judge a text, and say which words were listened to
  explain   show the whole arithmetic of one judgement
  glossary  the words of printed tapes

imdb COMMAND --help lists a command's options. Exit status: 0; 1 when the work failed; 2 for wrong usage; 130
after Ctrl-C.
)";

// What one command has to say about itself.
struct Usage {
  const char* name;
  const char* line;
  const char* about;
};

constexpr Usage train_usage{
    "train", "imdb train [OPTIONS]",
    "Learns from reviews and shows how well it does on others. Without --data it learns from the built-in "
    "pile\n"
    "of synthetic reviews, with the settings made for it where no option says otherwise: --epochs 40\n"
    "--max-len 32 --positions.\n"};
constexpr Usage evaluate_usage{
    "evaluate", "imdb evaluate --model FILE --data PATH [OPTIONS]",
    "Judges reviews whose label is known: accuracy, loss, and how many of each kind got which verdict.\n"};
constexpr Usage predict_usage{
    "predict", "imdb predict --model FILE [OPTIONS] [TEXT]",
    "Judges one text, or a review a line on standard input. A line each: the verdict, the chance that it "
    "liked\n"
    "the film, and the words that were listened to most, with the fraction each received.\n"};
constexpr Usage explain_usage{
    "explain", "imdb explain --model FILE [OPTIONS] TEXT",
    "Shows the tape of one review: every number on the way to the verdict, and its blame.\n"};
constexpr Usage glossary_usage{
    "glossary", "imdb glossary",
    "The words of printed tapes: the textbook's, the pencil's, the sketchbook's.\n"};

void add_common(po::options_description& options) {
  options.add_options()("quiet", "print only what was asked for")("help,h", "show this help")(
      "version", "show the version");
}

const po::value_semantic* value(const char* name) { return po::value<std::string>()->value_name(name); }

std::optional<Answer> answer_of(const Arguments& arguments, const Usage& usage,
                                const po::options_description& options) {
  if (arguments.given("help")) {
    std::ostringstream text;
    text << "Usage: " << usage.line << "\n\n" << usage.about << '\n' << options;
    return Answer{text.str()};
  }
  if (arguments.given("version")) return Answer{"imdb " PENCIL_VERSION "\n"};
  return {};
}

template <class T, class U>
void set(T& to, const std::optional<U>& value) {
  if (value) to = static_cast<T>(*value);
}

void set(std::optional<fs::path>& to, const Arguments& arguments, const std::string& name) {
  if (arguments.given(name)) to = arguments.needed(name);
}

/// The same for all ways of writing a path but for links.
fs::path plain(const fs::path& path) { return fs::absolute(path).lexically_normal(); }

void exclude(const Arguments& arguments, const std::string& one, const std::string& other) {
  if (arguments.given(one) && arguments.given(other))
    throw UsageError(fmt::format("--{} and --{} exclude each other", one, other));
}

void need(const Arguments& arguments, const std::string& one, const std::string& other) {
  if (arguments.given(one) && !arguments.given(other))
    throw UsageError(fmt::format("--{} needs --{}", one, other));
}

po::options_description train_options() {
  po::options_description options("Options", 110, 70);
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
      "metrics", value("FILE"), "write settings and results as JSON");
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
  exclude(arguments, "positions", "no-positions");
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
  if (o.save && o.metrics && plain(*o.save) == plain(*o.metrics))
    throw UsageError("--save and --metrics name the same file");
  need(arguments, "test", "data");
  need(arguments, "validation", "data");
  exclude(arguments, "validation", "validation-split");
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

Command parse_train(std::span<const std::string> words) {
  const po::options_description options = train_options();
  const Arguments arguments(options, words);
  if (auto answer = answer_of(arguments, train_usage, options)) return *answer;
  return read_train(arguments);
}

Command parse_evaluate(std::span<const std::string> words) {
  po::options_description options("Options", 110, 70);
  options.add_options()("model", value("FILE"), "what imdb train --save wrote")(
      "data", value("PATH"),
      "the reviews: a folder (its test part is read), or a CSV, TSV or JSON Lines file")(
      "skip-bad", "leave out rows that cannot be read, and count them")(
      "threads", value("N"), "threads [all]")("json", "print one JSON object");
  add_common(options);
  const Arguments arguments(options, words);
  if (auto answer = answer_of(arguments, evaluate_usage, options)) return *answer;
  arguments.at_most_others(0, "evaluate takes options only");
  EvaluateOptions o;
  o.model = arguments.needed("model");
  o.data = arguments.needed("data");
  o.skip_bad = arguments.given("skip-bad");
  o.json = arguments.given("json");
  o.quiet = arguments.given("quiet");
  set(o.threads, arguments.whole("threads", 1, 1024));
  return o;
}

constexpr const char* one_text = "there is one text already; put a review in quotes";

Command parse_predict(std::span<const std::string> words) {
  po::options_description options("Options", 110, 70);
  options.add_options()("model", value("FILE"), "what imdb train --save wrote")(
      "json", "print one JSON object a review");
  add_common(options);
  const Arguments arguments(options, words);
  if (auto answer = answer_of(arguments, predict_usage, options)) return *answer;
  PredictOptions o;
  o.model = arguments.needed("model");
  arguments.at_most_others(1, one_text);
  if (!arguments.others().empty()) o.text = arguments.others().front();
  o.json = arguments.given("json");
  o.quiet = arguments.given("quiet");
  return o;
}

Command parse_explain(std::span<const std::string> words) {
  po::options_description options("Options", 110, 70);
  options.add_options()("model", value("FILE"), "what imdb train --save wrote")(
      "label", value("0|1"),
      "what the review really thought, 1 liked: blame then starts at the loss, without it at the logit");
  add_common(options);
  const Arguments arguments(options, words);
  if (auto answer = answer_of(arguments, explain_usage, options)) return *answer;
  ExplainOptions o;
  o.model = arguments.needed("model");
  arguments.at_most_others(1, one_text);
  if (arguments.others().empty()) throw UsageError("there is no text to explain");
  o.text = arguments.others().front();
  if (const auto label = arguments.choice("label", {"0", "1"})) o.label = static_cast<int>(*label);
  o.quiet = arguments.given("quiet");
  return o;
}

Command parse_glossary(std::span<const std::string> words) {
  po::options_description options("Options", 110, 70);
  add_common(options);
  const Arguments arguments(options, words);
  if (auto answer = answer_of(arguments, glossary_usage, options)) return *answer;
  arguments.at_most_others(0, "glossary takes options only");
  return GlossaryOptions{.quiet = arguments.given("quiet")};
}

constexpr std::array<std::pair<const Usage*, Command (*)(std::span<const std::string>)>, 5> commands{{
    {&train_usage, parse_train},
    {&evaluate_usage, parse_evaluate},
    {&predict_usage, parse_predict},
    {&explain_usage, parse_explain},
    {&glossary_usage, parse_glossary},
}};

}  // namespace

Command parse_command(std::span<const std::string> words) {
  if (words.empty()) throw UsageError("imdb: there is no command; imdb --help lists them");
  const std::string& name = words.front();
  for (const auto& [usage, parse] : commands) {
    if (name != usage->name) continue;
    try {
      return parse(words.subspan(1));
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("imdb {0}: {1} (imdb {0} --help lists its options)", name, error.what()));
    }
  }
  if (name == "-h" || name == "--help" || name == "help") return Answer{overview};
  if (name == "--version") return Answer{"imdb " PENCIL_VERSION "\n"};
  throw UsageError(fmt::format("imdb: '{}' is no command; imdb --help lists them", name));
}

}  // namespace pencil::imdb
