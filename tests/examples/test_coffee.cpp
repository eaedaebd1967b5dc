#include <cmath>

#include "examples/coffee/coffee.hpp"
#include "examples/coffee/notes.hpp"
#include "tests/catch.hpp"
#include "tests/examples/folder_for_tests.hpp"
#include "tests/paths.hpp"
#include "tests/process.hpp"

using namespace pencil;
using namespace pencil::tests;

TEST_CASE("golden: coffee prints the sketchbook's digits") {
  const std::string page = coffee::page({});
  CHECK(page == golden_text("coffee.txt"));
  CHECK_THAT(page, Says("tokens ['coffee', 'study', 'hours']\n"
                        "met in how many notes\n"
                        "[[0 1 1]\n"
                        " [1 0 6]\n"
                        " [1 6 0]]\n"
                        "points\n"
                        "[[-0.42 -2.89]\n"
                        " [ 4.46  1.02]\n"
                        " [ 5.23  1.77]]\n"
                        "bag mean [ 3.09 -0.03]\n"));
  CHECK_THAT(page, Says("[[ 6.03 -3.41 -5.16]\n"));
  CHECK_THAT(page, Says("[[1.   0.   0.  ]\n"
                        " [0.   0.05 0.95]\n"
                        " [0.   0.02 0.98]]\n"
                        "mix\n"
                        "[[-0.42 -2.89]\n"
                        " [ 5.2   1.73]\n"
                        " [ 5.22  1.75]]\n"));
}

TEST_CASE("coffee's tape speaks the sketchbook's words, in their order") {
  const std::string page = coffee::page({.tape = true});
  std::size_t at = page.find("tape: 8 steps");
  REQUIRE(at != std::string::npos);
  for (const char* word : {"table", "the note's points", "bag", "dot", "look", "slices", "mix"}) {
    CAPTURE(word);
    at = page.find("  " + std::string(word) + "  ", at);
    REQUIRE(at != std::string::npos);
  }
}

TEST_CASE("golden: coffee as a program") {
  const Ran ran = run(program("coffee"), {});
  CHECK(ran.status == 0);
  CHECK(ran.out == golden_text("coffee.txt"));
  CHECK(ran.err.empty());
}

TEST_CASE("the points of the sketchbook's words have the digits known of them") {
  const coffee::Meetings meetings = coffee::count_meetings(coffee::sketchbook_notes());
  const auto n = static_cast<std::int64_t>(meetings.words.size());
  const std::vector<double> points = coffee::plane_points(meetings.counts, n);
  const auto point = [&](const char* word, int component) {
    const std::int64_t place = meetings.place(word);
    REQUIRE(place >= 0);
    return points[static_cast<std::size_t>(2 * place + component)];
  };
  CHECK(point("coffee", 0) == Approx(-0.4178086448).margin(1e-9));
  CHECK(point("coffee", 1) == Approx(-2.8909677731).margin(1e-9));
  CHECK(point("study", 0) == Approx(4.4631632455).margin(1e-9));
  CHECK(point("study", 1) == Approx(1.0222648836).margin(1e-9));
  CHECK(point("hours", 0) == Approx(5.2345305481).margin(1e-9));
  CHECK(point("hours", 1) == Approx(1.7669584192).margin(1e-9));
  CHECK(meetings.place("tea") == -1);
}

TEST_CASE("words of a note are lower-cased runs of two letters or more") {
  CHECK(coffee::words_of("Coffee, a STUDY-hours_2; é x") ==
        std::vector<std::string>{"coffee", "study", "hours_2", "é"});
  CHECK(coffee::words_of(" . a !").empty());
}

TEST_CASE("words that stand twice in a note meet twice as often, and never themselves") {
  const std::vector<std::string_view> notes{"tea milk tea", "milk sugar"};
  const coffee::Meetings meetings = coffee::count_meetings(notes);
  CHECK(meetings.words == std::vector<std::string>{"milk", "sugar", "tea"});
  CHECK(meetings.counts == std::vector<double>{0, 1, 2, 1, 0, 0, 2, 0, 0});
}

TEST_CASE("components are told apart by their spread, signs by the farthest point") {
  // Rows on a line: the second component is 0 everywhere.
  const std::vector<double> line{0, 0, 0, 1, 1, 1, -4, -4, -4};
  const std::vector<double> points = coffee::plane_points(line, 3);
  const double r = std::sqrt(3.0);
  CHECK(points[0] == Approx(-r));
  CHECK(points[2] == Approx(-2 * r));
  CHECK(points[4] == Approx(3 * r));
  for (const std::size_t i : {1u, 3u, 5u}) CHECK(std::abs(points[i]) < 1e-12);
  CHECK_THROWS_WITH(coffee::plane_points(line, 4), Says("square table"));
}

TEST_CASE("coffee reads notes of one's own") {
  const TemporaryFolder folder;
  const auto file =
      folder.write("notes.txt", "Tea milk sugar\r\n\n!!\ntea milk\ncake cream sugar\ncake cream");
  const Ran ran = run(program("coffee"), {"--notes", file.string(), "--note", "Tea cake"});
  CHECK(ran.status == 0);
  CHECK(ran.err.empty());
  CHECK_THAT(ran.out, Says("4 notes, 5 words\ntokens ['tea', 'cake']\n"));
  CHECK_THAT(run(program("coffee"), {"--notes", file.string()}).out, Says("tokens ['cake', 'cream']"));
}

TEST_CASE("coffee says what is wrong with its notes and ends with 1") {
  const TemporaryFolder folder;
  const auto one = folder.write("one.txt", "tea\ntea tea\n").string();
  const auto blank = folder.write("blank.txt", "\n a \n").string();
  std::string many;
  for (int i = 0; i < 2001; ++i) many += "word" + std::to_string(i) + (i % 10 == 9 ? "\n" : " ");
  const auto large = folder.write("large.txt", many).string();
  struct Fault {
    std::vector<std::string> arguments;
    const char* says;
  };
  const std::vector<Fault> faults{
      {{"--notes", (folder.path() / "none.txt").string()}, "none.txt: No such file"},
      {{"--notes", folder.path().string()}, "directory"},
      {{"--notes", one}, "at least two different words"},
      {{"--notes", blank}, "no words in it"},
      {{"--notes", large}, "2001 different words"},
      {{"--note", "coffee tea"}, "the word 'tea' stands in none of the notes"},
      {{"--note", "?"}, "has no word"}};
  for (const Fault& fault : faults) {
    CAPTURE(fault.arguments);
    const Ran ran = run(program("coffee"), fault.arguments);
    CHECK(ran.status == 1);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Says("coffee: ") && Says(fault.says));
  }
}

TEST_CASE("coffee says what is wrong with its command line and ends with 2") {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--notes"}, {"--notes="}, {"--tap"}, {"study"}, {"--nots", "x"}, {"--note", ""}}) {
    CAPTURE(arguments);
    const Ran ran = run(program("coffee"), arguments);
    CHECK(ran.status == 2);
    CHECK(ran.out.empty());
    CHECK_THAT(ran.err, Says("coffee: ") && Says("--help"));
  }
  const Ran help = run(program("coffee"), {"--help"});
  CHECK(help.status == 0);
  CHECK_THAT(help.out, Says("--notes FILE"));
}
