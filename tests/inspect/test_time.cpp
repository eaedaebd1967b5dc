#include "autograd/inspect/time.hpp"

#include <nlohmann/json.hpp>

#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"
#include "tests/paths.hpp"
#include "tests/ticking.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// A tape of a few modules on a clock that goes slower and slower.
struct Timed {
  Ticking clock{100};
  Tensor grid = parameter(ones({3, 2}), "attend.query.weight");
  Tensor nudge = parameter(ones({3}), "attend.query.bias");
  std::optional<Tape> tape;
  Tensor loss;

  explicit Timed(TapeOptions options = {.time = true}) {
    tape.emplace(options);
    const Tensor sheet = ones({4, 2});
    Tensor want, weights;
    {
      const Scope attend("attend");
      {
        const Scope query("query");
        const Role role("query");
        want = linear(sheet, grid, nudge);
      }
      {
        const Role role("scores");
        weights = matmul(want, want, {.transpose_right = true});
      }
      weights = softmax(weights);
    }
    {
      const Scope head("head");
      loss = tanh(tanh(reshape(weights, {16})));
    }
    loss = mean(loss);
  }
};

}  // namespace

TEST_CASE("where the time went reads as it should") {
  Timed timed;
  timed.tape->backward(timed.loss);
  CHECK(to_string(timing(*timed.tape)) == golden_text("timing.txt"));
}

TEST_CASE("times are told apart by module and word, and add up") {
  Timed timed;
  const Timing before = timing(*timed.tape);
  CHECK(before.all.backward == 0);
  timed.tape->backward(timed.loss);
  const Timing times = timing(*timed.tape);
  CHECK(times.all.calls == 7);
  CHECK(times.all.forward == before.all.forward);
  std::int64_t forward = 0, backward = 0;
  int calls = 0;
  double share = 0;
  for (const TimingModule& module : times.modules) {
    std::int64_t inside = 0;
    for (const TimingRow& row : module.rows) {
      forward += row.forward;
      backward += row.backward;
      calls += row.calls;
      share += row.share;
      inside += row.total();
    }
    CHECK(inside == module.all.total());
  }
  CHECK(forward == times.all.forward);
  CHECK(backward == times.all.backward);
  CHECK(calls == times.all.calls);
  CHECK(share == Approx(1));
  for (std::size_t i = 1; i < times.modules.size(); ++i)
    CHECK(times.modules[i - 1].all.total() >= times.modules[i].all.total());
}

TEST_CASE("modules are folded to a depth, and words are a glossary's") {
  Timed timed;
  const Timing folded = timing(*timed.tape, {.glossary = Glossary::textbook, .depth = 1});
  std::vector<std::string> paths;
  for (const TimingModule& module : folded.modules) paths.push_back(module.path);
  std::ranges::sort(paths);
  CHECK(paths == std::vector<std::string>{"", "attend", "head"});
  CHECK_THAT(to_string(folded), Says("query (linear)"));
  CHECK(timing(*timed.tape, {.depth = 0}).modules.size() == 1);
}

TEST_CASE("the rate is the work of forward and of the gradients that were wanted, over the time") {
  Timed timed;
  timed.tape->backward(timed.loss);
  const Step linear = timed.tape->step(3);
  REQUIRE(linear.word() == "linear");
  const double product = 2. * 4 * 3 * 2, sums = 4 * 3;
  CHECK(work_of(*timed.tape, linear)->forward == product + sums);
  CHECK(work_of(*timed.tape, linear)->backward == product + sums);  // the sheet is a constant
  const Timing times = timing(*timed.tape, {.depth = 2});
  for (const TimingModule& module : times.modules)
    if (module.path == "attend.query")
      CHECK(module.all.gigaflops() == Approx(2 * (product + sums) / static_cast<double>(module.all.total())));
  CHECK_FALSE(work_of(*timed.tape, timed.tape->step(0)));
  Timed leaves({.keep = Keep::leaves, .time = true});
  leaves.tape->backward(leaves.loss);
  CHECK(to_string(timing(*leaves.tape)) == golden_text("timing.txt"));
}

TEST_CASE("a tape that did not measure says how to") {
  Timed plain(TapeOptions{});
  CHECK_THROWS_WITH(timing(*plain.tape), Says("[timing]") && Says("Tape tape{{.time = true}}"));
  CHECK_THROWS_WITH(chrome_trace(*plain.tape), Says("[trace]") && Says("{{.time = true}}"));
}

TEST_CASE("a trace for Perfetto reads as it should") {
  Timed timed;
  timed.tape->backward(timed.loss);
  CHECK(chrome_trace(*timed.tape) == golden_text("trace.json"));
  CHECK_THAT(chrome_trace(*timed.tape, {.lines = true}), Says("\"line\":\"test_time.cpp:"));
}

TEST_CASE("slices of a trace lie in those around them or side by side") {
  Timed timed;
  timed.tape->backward(timed.loss);
  const auto trace = nlohmann::json::parse(chrome_trace(*timed.tape));
  std::vector<double> ends;  // of the slices that are open
  int steps = 0;
  double last = 0;
  for (const auto& event : trace["traceEvents"]) {
    if (event["ph"] == "M") continue;
    REQUIRE(event["ph"] == "X");
    const double begin = event["ts"], end = begin + event["dur"].get<double>();
    CHECK(begin >= last);
    last = begin;
    while (!ends.empty() && ends.back() <= begin) ends.pop_back();
    if (!ends.empty()) CHECK(end <= ends.back() + 1e-9);
    ends.push_back(end);
    steps += event["cat"] != "module";
  }
  CHECK(steps == 7 + 7);
}

TEST_CASE("any name survives a trace") {
  const Ticking clock;
  Tape tape{{.time = true}};
  const std::string odd = "quote \" backslash \\ line\n tab\t emoji 🎬";
  {
    const Scope scope(odd);
    (void)named(twice(tensor(1)), odd);
  }
  (void)named(twice(tensor(std::nan(""))), "\xff\xfe");
  const auto trace = nlohmann::json::parse(chrome_trace(tape));
  CHECK(trace["traceEvents"][1]["name"] == odd);
  CHECK(trace["traceEvents"][2]["args"]["name"] == odd);
  CHECK(trace["traceEvents"][3]["args"]["name"] == "\xef\xbf\xbd\xef\xbf\xbd");
  const Tape empty{{.time = true}};
  CHECK(nlohmann::json::parse(chrome_trace(empty))["traceEvents"].size() == 1);
  CHECK(timing(empty).all.calls == 0);
  CHECK_NOTHROW(to_string(timing(empty)));
}

TEST_CASE("a trace of many steps comes in pieces") {
  const Ticking clock;
  Tape tape{{.time = true}};
  Tensor y = tensor(1);
  for (int i = 0; i < 3000; ++i) y = twice(y);
  int pieces = 0;
  std::string joined;
  chrome_trace(tape, {}, [&](std::string_view piece) {
    ++pieces;
    joined += piece;
  });
  CHECK(pieces > 1);
  CHECK(joined == chrome_trace(tape));
}
