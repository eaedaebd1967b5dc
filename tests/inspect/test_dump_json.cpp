#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "autograd/kernels/threads.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/dumped.hpp"
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;
using nlohmann::json;

namespace {

json parsed(const Tape& tape, const DumpOptions& options = {}) {
  return json::parse(dump_json(tape, options));
}

// Of every kind of step and of number.
struct Every {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  Tensor w = parameter(tensor({0.5, -2}), "look.query.weight"), still = parameter(tensor({1, 2}), "still");
  Tape outer;
  Tensor other = twice(w);
  Tape tape;
  Tensor y;

  Every() {
    still.set_frozen(true);
    {
      const Scope look("look"), query("query");
      const Role role("query");
      y = times(w, named(tensor({nan, inf}), "x"));
    }
    y = y * 0.25;
    y = times(y, other);
    y = times(y, still);
    {
      const Tape::Pause pause;
      (void)twice(y);
    }
    (void)rounded(tensor({1, 2}));
    for (int i = 0; i < 4; ++i) y = times(twice(y), w);
    (void)twice(arange(40, f64));
  }
};

}  // namespace

TEST_CASE("JSON of a tape reads as it should") {
  Every every;
  std::string text = dump_json(every.tape, {.settings = true, .bytes = true});
  every.tape.backward(every.y, {.upstream = tensor({1, 2})});
  text += dump_json(every.tape, {.glossary = Glossary::textbook, .fold = 2});
  CHECK(text == golden_text("dump.json"));
}

TEST_CASE("JSON has the same content as the text") {
  Every every;
  every.tape.backward(every.y, {.upstream = tensor({1, 2})});
  const std::string text = dump(every.tape);
  const json all = parsed(every.tape);
  CHECK(all["tape"]["steps"] == every.tape.size());
  REQUIRE(all["lines"].size() == static_cast<std::size_t>(every.tape.size()));
  for (int i = 0; i < every.tape.size(); ++i) {
    const json& line = all["lines"][static_cast<std::size_t>(i)];
    CHECK(line["step"] == i);
    CHECK_THAT(line_of(text, i), Says("  " + line["word"].get<std::string>() + " "));
    CHECK_THAT(line_of(text, i), Says(line.value("name", "")));
    CHECK(line["gradient"].contains("numbers") == every.tape.step(i).gradient().defined());
  }
}

TEST_CASE("any name survives a strict parser") {
  const std::string name = "\"quoted\" \\ back\nnew\ttab \x1b[31m 🎬 </script> \xe2\x80\xa8";
  Tape tape;
  (void)twice(named(tensor(1), name));
  (void)twice(named(tensor(1), "broken \xff\xc3( utf-8 \xe2\x82"));
  const json lines = parsed(tape)["lines"];
  CHECK(lines[0]["name"] == name);
  CHECK(lines[2]["name"] == "broken \xef\xbf\xbd\xef\xbf\xbd( utf-8 \xef\xbf\xbd");
}

TEST_CASE("numbers come back as they were, whole up to .whole, else summed up") {
  Tape tape;
  (void)twice(tensor({0.1f, 1e-45f, 3.4028235e38f}));
  (void)twice(tensor({0.1, 5e-324, 1.7976931348623157e308}, f64));
  (void)twice(tensor({-0.0, 1.0 / 3}, f64));
  const json lines = parsed(tape)["lines"];
  const auto numbers = [&](std::size_t line) {
    return lines[line]["value"]["numbers"].get<std::vector<double>>();
  };
  CHECK(static_cast<float>(numbers(0)[0]) == 0.1f);
  CHECK(static_cast<float>(numbers(0)[1]) == 1e-45f);
  CHECK(numbers(2) == std::vector<double>{0.1, 5e-324, 1.7976931348623157e308});
  CHECK(lines[3]["value"]["numbers"][2] == "inf");
  CHECK(std::signbit(numbers(4)[0]));
  CHECK(numbers(4)[1] == 1.0 / 3);

  Tape longer;
  std::vector<double> odd(40, 1.5);
  odd[0] = std::nan("");
  odd[8] = odd[9] = -std::numeric_limits<double>::infinity();
  (void)twice(tensor(odd, {5, 8}));
  const json sum = parsed(longer)["lines"][0]["value"];
  CHECK(sum ==
        json::parse(R"({"first":["nan",1.5,1.5],"least":1.5,"mean":1.5,"largest":1.5,"nan":1,"inf":2})"));
  const json whole = parsed(longer, {.whole = 40})["lines"][0];
  CHECK(whole["value"]["numbers"].size() == 40);
  CHECK(whole["value"]["numbers"][8] == "-inf");
  CHECK(whole["shape"] == std::vector<int>{5, 8});
}

TEST_CASE("what was freed, overwritten or not wanted has a state in JSON") {
  Small small({.keep = Keep::leaves});
  small.backward();
  small.w.assign(zeros({2, 2}));
  small.w.assign(zeros({2, 2}));
  const json lines = parsed(*small.tape, {.lines = true})["lines"];
  CHECK(lines[0]["gradient"]["state"] == "not wanted");
  CHECK(lines[2]["value"]["state"] == "freed");
  CHECK(lines[2]["gradient"]["state"] == "freed");
  CHECK(lines[4]["gradient"]["state"] == "ends here");
  CHECK_THAT(lines[3]["called"].get<std::string>(), Says("dumped.hpp:"));
  Small kept;
  kept.w.assign(zeros({2, 2}));
  kept.w.assign(zeros({2, 2}));
  const json late = parsed(*kept.tape)["lines"];
  CHECK(late[1]["value"]["state"] == "overwritten");
  CHECK(late[1]["value"]["read"] == 0);
  CHECK(late[1]["value"]["now"] == 2);
  CHECK_THAT(late[1]["value"]["at"].get<std::string>(), Says("test_dump_json.cpp:"));
  CHECK(late[2]["inputs"] == json::parse(R"([0, {"step":1, "version":0}])"));
  CHECK(late[2]["gradient"]["state"] == "not yet");
}

TEST_CASE("filters, folding and columns apply to JSON") {
  Every every;
  const json chosen =
      parsed(every.tape, {.shape = false, .value = false, .blame = false, .filter = {.path = "look"}});
  CHECK(chosen["tape"]["shown"] == 3);
  CHECK(chosen["lines"].size() == 3);
  CHECK_FALSE((chosen["lines"][0].contains("shape") || chosen["lines"][0].contains("value") ||
               chosen["lines"][0].contains("gradient")));
  const json folded = parsed(every.tape, {.fold = 1});
  const auto repeat =
      std::ranges::find_if(folded["lines"], [](const json& line) { return line["kind"] == "repeat"; });
  REQUIRE(repeat != folded["lines"].end());
  CHECK((*repeat)["times"] == 3);
  CHECK((*repeat)["steps"] == 2);
  CHECK((*repeat)["lines"].size() == 2);
  CHECK_THROWS_WITH(dump_json(every.tape, {.fold = -1}), Says(".fold is -1"));
}

TEST_CASE("a million steps become JSON in pieces") {
  const Tensor w = parameter(tensor(1), "w");
  Tape tape;
  Tensor y = w;
  while (tape.size() < 1'000'000) y = times(y, w);
  std::size_t lines = 0, longest = 0;
  dump_json(tape, {}, [&](std::string_view piece) {
    lines += static_cast<std::size_t>(std::ranges::count(piece, '\n'));
    longest = std::max(longest, piece.size());
  });
  CHECK(lines == static_cast<std::size_t>(tape.size()) + 2);
  CHECK(longest < 100'000);
}

TEST_CASE("JSON goes to a file with the same bytes") {
  const Small small;
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  dump_json(file, *small.tape);
  CHECK(static_cast<std::size_t>(std::ftell(file)) == dump_json(*small.tape).size());
  std::fclose(file);
  std::FILE* full = std::fopen("/dev/full", "w");
  REQUIRE(full != nullptr);
  std::setvbuf(full, nullptr, _IONBF, 0);
  CHECK_THROWS_WITH(dump_json(full, *small.tape), Says("[dump_json] the file could not be written"));
  std::fclose(full);
}

TEST_CASE("dumps of equal runs are equal bytes on any number of threads") {
  const auto run = [](int threads) {
    const int before = kernels::threads();
    kernels::set_threads(threads);
    Rng rng{3};
    const Tensor x = randn({300, 200}, rng), w = parameter(randn({200, 150}, rng), "w");
    Tape tape;
    const Tensor y = tanh(matmul(x, w));
    const Tensor loss = mean(square(softmax(y)));
    tape.backward(loss);
    kernels::set_threads(before);
    const DumpOptions options{.lines = true, .settings = true, .whole = 10'000, .bytes = true, .fold = 1};
    return dump(tape) + dump(tape, options) + dump_json(tape) + dump_json(tape, options);
  };
  const std::string one = run(1);
  CHECK(run(1) == one);
  CHECK(run(2) == one);
  CHECK(run(7) == one);
}
