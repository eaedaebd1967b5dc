#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include "examples/imdb/commands.hpp"
#include "nn/text/utf8.hpp"

namespace pencil::imdb {
namespace {

int run_command(const Answer& answer, Console& console) {
  console.out << answer.text;
  return 0;
}
int run_command(const TrainOptions& options, Console& console) { return train(options, console); }
int run_command(const EvaluateOptions& options, Console& console) { return evaluate(options, console); }
int run_command(const PredictOptions& options, Console& console) { return predict(options, console); }
int run_command(const ExplainOptions& options, Console& console) { return explain(options, console); }
int run_command(const CurvesOptions& options, Console& console) { return curves(options, console); }
int run_command(const GlossaryOptions& options, Console& console) { return glossary(options, console); }

/// Errors quote files and command lines as they are; a terminal gets well-formed UTF-8 without controls.
std::string printable(std::string text) {
  nn::text::replace_broken_bytes(text);
  std::replace_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) < ' ' && c != '\n') || c == 0x7f; }, ' ');
  return text;
}

}  // namespace

int run(std::span<const std::string> words, Console& console) {
  try {
    const Command command = parse_command(words);
    const int status =
        std::visit([&](const auto& options) { return run_command(options, console); }, command);
    console.out.flush();
    if (!console.out) fail("cannot write to standard output");
    return status;
  } catch (const UsageError& error) {
    console.err << printable(error.what()) << '\n';
    return 2;
  } catch (const std::bad_alloc&) {
    console.err << "imdb: there is not enough memory\n";
    return 1;
  } catch (const std::exception& error) {
    console.err << "imdb: " << printable(error.what()) << '\n';
    return 1;
  }
}

}  // namespace pencil::imdb
