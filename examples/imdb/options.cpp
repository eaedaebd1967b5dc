#include "examples/imdb/options_parts.hpp"

#include <fmt/format.h>

#include <array>
#include <sstream>
#include <string_view>

namespace pencil::imdb {

void add_common(po::options_description& options) {
  options.add_options()("quiet", "print only what was asked for")("help,h", "show this help")(
      "version", "show the version");
}

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

namespace {

constexpr const char* overview =
    R"(imdb: learns from film reviews whether they liked the film, and shows how it judges.

Usage: imdb COMMAND [OPTIONS]

  train     learn from reviews
  evaluate  judge reviews whose label is known
  predict   judge a text, and say which words were listened to
  explain   show the whole arithmetic of one judgement, or question it
  curves    draw how a training went
  glossary  the words of printed tapes

imdb COMMAND --help lists a command's options. Exit status: 0; 1 when the work failed; 2 for wrong usage; 130
after Ctrl-C.
)";

constexpr Usage evaluate_usage{
    "evaluate", "imdb evaluate --model FILE --data PATH [OPTIONS]",
    "Judges reviews whose label is known: accuracy, loss, and how many of each kind got which verdict.\n"};
constexpr Usage predict_usage{
    "predict", "imdb predict --model FILE [OPTIONS] [TEXT]",
    "Judges one text, or a review a line on standard input. A line each: the verdict, the chance that it "
    "liked\n"
    "the film, and the words that were listened to most, with the fraction each received.\n"};
constexpr Usage curves_usage{
    "curves", "imdb curves --metrics FILE --svg FILE [OPTIONS]",
    "Draws loss or accuracy over the epochs, from what imdb train --metrics wrote.\n"};
constexpr Usage glossary_usage{
    "glossary", "imdb glossary",
    "The words of printed tapes: the textbook's, the pencil's, the sketchbook's.\n"};

Command parse_evaluate(std::span<const std::string> words) {
  po::options_description options = empty_options();
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

Command parse_predict(std::span<const std::string> words) {
  po::options_description options = empty_options();
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

Command parse_curves(std::span<const std::string> words) {
  po::options_description options = empty_options();
  options.add_options()("metrics", value("FILE"), "what imdb train --metrics wrote")(
      "svg", value("FILE"), "the picture to write")("what", value("NAME"), "loss or accuracy [accuracy]");
  add_common(options);
  const Arguments arguments(options, words);
  if (auto answer = answer_of(arguments, curves_usage, options)) return *answer;
  arguments.at_most_others(0, "curves takes options only");
  CurvesOptions o;
  o.metrics = arguments.needed("metrics");
  o.svg = arguments.needed("svg");
  arguments.need_different_files({"metrics", "svg"});
  const auto what = arguments.choice("what", {"loss", "accuracy"});
  o.what = what && *what == 0 ? "loss" : "accuracy";
  o.quiet = arguments.given("quiet");
  return o;
}

Command parse_glossary(std::span<const std::string> words) {
  po::options_description options = empty_options();
  add_common(options);
  const Arguments arguments(options, words);
  if (auto answer = answer_of(arguments, glossary_usage, options)) return *answer;
  arguments.at_most_others(0, "glossary takes options only");
  return GlossaryOptions{.quiet = arguments.given("quiet")};
}

constexpr std::array<std::pair<const Usage*, Command (*)(std::span<const std::string>)>, 6> commands{{
    {&train_usage, parse_train},
    {&evaluate_usage, parse_evaluate},
    {&predict_usage, parse_predict},
    {&explain_usage, parse_explain},
    {&curves_usage, parse_curves},
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
  if (name == "help" && words.size() > 1) {
    const std::string of_command[]{words[1], "--help"};
    return parse_command(of_command);
  }
  if (name == "-h" || name == "--help" || name == "help") return Answer{overview};
  if (name == "--version") return Answer{"imdb " PENCIL_VERSION "\n"};
  throw UsageError(fmt::format("imdb: '{}' is no command; imdb --help lists them", name));
}

}  // namespace pencil::imdb
