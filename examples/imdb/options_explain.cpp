#include <fmt/format.h>

#include "examples/imdb/options_parts.hpp"

namespace pencil::imdb {

const Usage explain_usage{
    "explain", "imdb explain --model FILE [OPTIONS] TEXT",
    "Shows the tape of one review: every number on the way to the verdict, and its blame.\n"};
Command parse_explain(std::span<const std::string> words) {
  po::options_description options = empty_options();
  options.add_options()("model", value("FILE"), "what imdb train --save wrote")(
      "label", value("0|1"),
      "what the review really thought, 1 liked: blame then starts at the loss, without it at the logit")(
      "glossary", value("NAME"), "whose words: pencil, sketchbook or textbook [pencil]")(
      "detail", value("NAME"), "steps: attention in single steps; fast: as it runs when learning [steps]")(
      "fold", value("DEPTH"), "one line for each module so many names deep")(
      "number", value("STEP:I,J"), "print the arithmetic of one number of a step, not the tape")(
      "depth", value("N"), "and of the numbers it came from, N steps deep [1]")(
      "pencil", "round as with a pencil: three places, what is blown up by e to four digits")(
      "ledger", value("STEP:I,J"), "print where the blame of one number came from, not the tape")(
      "why", value("PARAMETER"), "say whether blame reaches a parameter, and if not, where it ended")(
      "html", value("FILE"), "write the tape as a page for the browser")(
      "dot", value("FILE"), "write the tape for Graphviz")("dump-json", value("FILE"),
                                                           "write the tape as JSON");
  add_common(options);
  const Arguments arguments(options, words);
  if (auto answer = answer_of(arguments, explain_usage, options)) return *answer;
  ExplainOptions o;
  o.model = arguments.needed("model");
  arguments.at_most_others(1, one_text);
  if (arguments.others().empty()) throw UsageError("there is no text to explain");
  o.text = arguments.others().front();
  if (const auto label = arguments.choice("label", {"0", "1"})) o.label = static_cast<int>(*label);
  if (const auto name = arguments.choice("glossary", {"pencil", "sketchbook", "textbook"}))
    o.glossary = static_cast<Glossary>(*name);
  if (const auto detail = arguments.choice("detail", {"fast", "steps"}))
    o.detail = static_cast<Detail>(*detail);
  set(o.fold, arguments.whole("fold", 1, 1000));
  set(o.depth, arguments.whole("depth", 1, 1000));
  o.pencil = arguments.given("pencil");
  o.number = arguments.number_at("number");
  if (!o.number)
    for (const char* name : {"depth", "pencil"})
      if (arguments.given(name))
        throw UsageError(
            fmt::format("--{} is for the arithmetic of one number: needs --number STEP:I,J", name));
  o.ledger = arguments.number_at("ledger");
  o.why = arguments.text("why");
  set(o.html, arguments, "html");
  set(o.dot, arguments, "dot");
  set(o.dump_json, arguments, "dump-json");
  arguments.need_different_files({"model", "html", "dot", "dump-json"});
  o.quiet = arguments.given("quiet");
  return o;
}

}  // namespace pencil::imdb
