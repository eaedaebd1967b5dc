#include "examples/nolan/nolan.hpp"
#include "tests/catch.hpp"
#include "tests/paths.hpp"
#include "tests/process.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

std::string last_line(std::string text) {
  text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

TEST_CASE("golden: nolan prints the exact arithmetic") {
  const std::string page = nolan::page({});
  CHECK(page == golden_text("nolan.txt"));
  CHECK(last_line(page) == "nolan's new stick (after attending): [0.095 2.858 0.953 0.047]");
}

TEST_CASE("golden: nolan with a pencil rounds after every step") {
  const std::string page = nolan::page({.pencil = true});
  CHECK(page == golden_text("nolan_pencil.txt"));
  CHECK_THAT(page, Says("blown up by e: 2.718 54.60 total 57.32"));
  CHECK(last_line(page) == "nolan's new stick (after attending): [0.094 2.859 0.953 0.047]");
}

TEST_CASE("golden: nolan shows what padding takes, and what a mask gives back") {
  const std::string open = nolan::page({.slots = 100});
  CHECK(open == golden_text("nolan_slots.txt"));
  CHECK_THAT(open, Says("nolan 0.0175, ended 0.3515, padding 0.6310") && Says("63.1 %"));
  const std::string masked = nolan::page({.mask = true, .slots = 100});
  CHECK(masked == golden_text("nolan_mask.txt"));
  CHECK(last_line(masked) == last_line(nolan::page({})));
}

TEST_CASE("golden: nolan goes backward from the sum of the new stick") {
  const std::string page = nolan::page({.blame = true});
  CHECK(page == golden_text("nolan_blame.txt"));
  CHECK_THAT(page, Says("fractions          [3. 4.]"));
  CHECK_THAT(page, Says("scaled             [-0.045  0.045]"));
  CHECK_THAT(page, Says("matches            [-0.023  0.023]"));
  CHECK_THAT(page, Says("WANT-grid          [[0.09  0.045 0.045 0.   ]"));
  CHECK_THAT(page, Says("nolan.HAVE         [-0.045  0.    -0.023  0.   ]"));
  CHECK_THAT(page, Says("ended.HAVE         [0.045 0.    0.023 0.   ]"));
  CHECK_THAT(page, Says("nolan.GIVE         [0.047 0.047 0.047 0.047]"));
  CHECK_THAT(page, Says("ended.GIVE         [0.953 0.953 0.953 0.953]"));
}

TEST_CASE("golden: nolan's whole machine, and its blame from the wrongness") {
  CHECK(nolan::page({.whole = true}) == golden_text("nolan_whole.txt"));
  CHECK(nolan::page({.pencil = true, .whole = true}) == golden_text("nolan_whole_pencil.txt"));
}

TEST_CASE("golden: nolan's tape reads like the page") {
  CHECK(nolan::page({.blame = true, .tape = true}) == golden_text("nolan_tape.txt"));
}

TEST_CASE("the whole machine's tape speaks the document's words, in their order") {
  const std::string page = nolan::page({.whole = true, .tape = true});
  std::size_t at = page.rfind("--- the tape ---");
  for (const char* word :
       {"TABLE", "SHEET",   "WANT-grid",      "WANT",         "HAVE-grid", "HAVE",      "GIVE-grid",
        "GIVE",  "MATCH",   "SCALE",          "BLOW UP BY e", "TOTAL",     "FRACTIONS", "NEW STICK",
        "team2", "GLUE",    "BLEND-grid",     "BLEND-nudge",  "BLEND",     "COLLAPSE",  "grid",
        "nudge", "WORKERS", "keep positives", "CHANCE",       "WRONGNESS"}) {
    CAPTURE(word);
    at = page.find(word, at);
    REQUIRE(at != std::string::npos);
    at += std::string(word).size();
  }
}

TEST_CASE("the mask gives the whole machine its verdict back") {
  const auto verdict = [](const nolan::Options& options) {
    const std::string page = nolan::page(options);
    const std::size_t at = page.find("crush to 0..1");
    return page.substr(at, page.find('\n', at) - at);
  };
  CHECK(verdict({.mask = true, .whole = true, .slots = 100}) == verdict({.whole = true}));
  CHECK(verdict({.whole = true, .slots = 100}) != verdict({.whole = true}));
}

TEST_CASE("golden: nolan as a program") {
  const Ran plain = run(program("nolan"), {});
  CHECK(plain.status == 0);
  CHECK(plain.out == golden_text("nolan.txt"));
  CHECK(plain.err.empty());
  const Ran masked = run(program("nolan"), {"--slots", "100", "--mask"});
  CHECK(masked.status == 0);
  CHECK(masked.out == golden_text("nolan_mask.txt"));
}

TEST_CASE("nolan says what is wrong with its command line and ends with 2") {
  const std::vector<std::vector<std::string>> wrong{{"--slots", "1"},
                                                    {"--slots", "100000"},
                                                    {"--slots", "many"},
                                                    {"--slots"},
                                                    {"--pen"},
                                                    {"ended"},
                                                    {"--mask", "--mask=1"},
                                                    {"--slots=3", "--slots=4"},
                                                    {"--whole", "--slots", "1001"}};
  for (const auto& arguments : wrong) {
    CAPTURE(arguments);
    const Ran ran = run(program("nolan"), arguments);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Says("nolan: ") && Says("--help"));
  }
}

TEST_CASE("nolan prints its help") {
  for (const char* flag : {"-h", "--help"}) {
    const Ran ran = run(program("nolan"), {flag});
    CHECK(ran.status == 0);
    CHECK(ran.err.empty());
    for (const char* option : {"--pencil", "--slots", "--mask", "--blame", "--whole", "--tape"})
      CHECK_THAT(ran.out, Says(option));
  }
}
