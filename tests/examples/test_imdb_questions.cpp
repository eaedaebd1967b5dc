// imdb explain asks the tape; imdb train watches, and reports.

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/examples/imdb_for_tests.hpp"

using namespace pencil;
using tests::Ran;
using tests::run_imdb;
using tests::Trained;

namespace {

const Trained& pencil_model() {
  static const Trained trained({"--preset", "pencil"});
  return trained;
}

// imdb explain --quiet of one review, and what it printed.
std::string asked(std::vector<std::string> more) {
  std::vector<std::string> words{"explain", "--quiet", "--model", pencil_model().model(), "--label", "0"};
  words.insert(words.end(), more.begin(), more.end());
  words.push_back("A good film");
  const Ran ran = run_imdb(words);
  INFO(ran.err);
  CHECK(ran.status == 0);
  return ran.out;
}

// The number of the first step whose line holds a word.
int step_called(const std::string& dump, const std::string& word) {
  std::istringstream lines(dump);
  for (std::string line; std::getline(lines, line);)
    if (line.find(word) != std::string::npos) return std::stoi(line);
  FAIL("no step is called " << word);
  return -1;
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("imdb explain: another glossary, another detail, folded") {
  CHECK_THAT(asked({"--glossary", "textbook"}), Says("gradient") && Says("attention weights"));
  CHECK_THAT(asked({"--glossary", "sketchbook"}), Says("slices"));
  CHECK_THAT(asked({}), Says("MATCH"));
  CHECK(asked({"--detail", "fast"}).find("MATCH") == std::string::npos);
  const std::string whole = asked({}), folded = asked({"--fold", "1"});
  CHECK(folded.size() < whole.size() / 2);
  CHECK_THAT(folded, Says("attend"));
}

TEST_CASE("imdb explain: the arithmetic of one number, and of those it came from") {
  const std::string dump = asked({});
  const int match = step_called(dump, "MATCH");
  const std::string one = asked({"--number", fmt::format("{}:0,0,1", match)});
  CHECK_THAT(one, Says("MATCH [0, 0, 1]") && Says("*") && Says(" = "));
  CHECK(one.find("FRACTIONS") == std::string::npos);
  CHECK(asked({"--depth", "2", "--number", fmt::format("{}:0,0,1", match)}).size() > one.size());
  CHECK(asked({"--pencil", "--number", fmt::format("{}:0,0,1", match)}) != one);

  const Ran beyond = run_imdb({"explain", "--model", pencil_model().model(), "--number", "999:0", "A film"});
  CHECK(beyond.status == 1);
  CHECK_THAT(beyond.err, Says("there is no step 999"));

  for (const std::vector<std::string>& option : {std::vector<std::string>{"--depth", "2"}, {"--pencil"}}) {
    std::vector<std::string> words{"explain", "--model", pencil_model().model(), "A film"};
    words.insert(words.end(), option.begin(), option.end());
    const Ran alone = run_imdb(words);
    CHECK(alone.status == 2);
    CHECK_THAT(alone.err, Says(option.front() + " is for the arithmetic of one number: needs --number"));
  }
}

TEST_CASE("imdb explain: where the blame of one number came from, and why there is none") {
  const std::string dump = asked({});
  const int sheet = step_called(dump, "SHEET");
  const std::string ledger = asked({"--ledger", fmt::format("{}:0,0,0", sheet)});
  CHECK_THAT(ledger, Says("rest") || Says("="));
  CHECK_THAT(asked({"--why", "embed.weight"}), Says("embed.weight"));
  CHECK_THAT(asked({"--why", "attend.key.bias"}), Says("cancel"));

  const Ran unknown =
      run_imdb({"explain", "--model", pencil_model().model(), "--why", "attend.keys", "A film"});
  CHECK(unknown.status == 2);
  CHECK_THAT(unknown.err, Says("--why \"attend.keys\"") && Says("attend.key.weight"));
}

TEST_CASE("imdb explain: a page, a graph and JSON are written besides") {
  const tests::TemporaryFolder folder;
  const auto page = folder.path() / "tape.html", graph = folder.path() / "tape.dot",
             json = folder.path() / "tape.json";
  CHECK(asked({"--html", page.string(), "--dot", graph.string(), "--dump-json", json.string()}) == asked({}));
  CHECK_THAT(contents(page), Says("<!doctype html>") && Says("A good film") && Says("FRACTIONS"));
  CHECK_THAT(contents(graph), Says("digraph"));
  CHECK(nlohmann::json::parse(contents(json)).is_object());

  const Ran nowhere =
      run_imdb({"explain", "--model", pencil_model().model(), "--html", "/no/such/folder/x", "A film"});
  CHECK(nowhere.status == 1);
  CHECK_THAT(nowhere.err, Says("--html /no/such/folder/x: there is no folder"));
}

TEST_CASE("imdb explain: what is asked for must make sense") {
  const auto refused = [](std::vector<std::string> words, const std::string& reason) {
    words.insert(words.begin(), {"explain", "--model", "m"});
    words.push_back("text");
    const Ran ran = run_imdb(words);
    CHECK(ran.status == 2);
    CHECK_THAT(ran.err, Says(reason));
  };
  for (const char* wrong : {"", "x", "1:", "1:2,", "1:,2", ":1", "-1:0", "1:-1", "1;2", "1:2 "})
    refused({"--number", wrong}, "need a step and the place of a number in it, like 12:0,3");
  refused({"--ledger", "a"}, "--ledger is \"a\"");
  refused({"--glossary", "latin"}, "need pencil or sketchbook or textbook");
  refused({"--fold", "0"}, "need a whole number from 1 to 1000");
  refused({"--html", "a", "--dot", "./a"}, "--html and --dot name the same file");
  refused({"--model", "m"}, "--model");
}

TEST_CASE("imdb train --guard and --report change no number; the report holds curves, flow and time") {
  const tests::TemporaryFolder folder;
  const auto train = [&](std::vector<std::string> more, const std::string& name) {
    const std::string data = folder.write("reviews.csv", tests::small_csv()).string();
    std::vector<std::string> words{"train", "--data",       data,     "--test",
                                   data,    "--max-len",    "8",      "--epochs",
                                   "3",     "--batch-size", "4",      "--vocab-size",
                                   "30",    "--quiet",      "--save", (folder.path() / name).string()};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = run_imdb(words);
    INFO(ran.err);
    CHECK(ran.status == 0);
    return contents(folder.path() / name);
  };
  const auto report = folder.path() / "report.html", metrics = folder.path() / "metrics.json",
             picture = folder.path() / "loss.svg";
  const std::string plain = train({}, "plain");
  CHECK(train({"--guard"}, "guarded") == plain);
  CHECK(train({"--report", report.string(), "--metrics", metrics.string()}, "reported") == plain);
  CHECK_THAT(contents(report), Says("<!doctype html>") && Says("accuracy") && Says("embed.weight") &&
                                   Says("forward") && Says("Time of one step"));

  CHECK(run_imdb({"curves", "--metrics", metrics.string(), "--svg", picture.string(), "--what", "loss"})
            .status == 0);
  CHECK_THAT(contents(picture), Says("<svg") && Says("train") && Says("test") && Says("epoch"));
  const Ran wrong = run_imdb({"curves", "--metrics", report.string(), "--svg", picture.string()});
  CHECK(wrong.status == 1);
  CHECK_THAT(wrong.err, Says("the text is no metrics file"));
}
