#include <cstdio>

#include "autograd/inspect/dot.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"
#include "tests/paths.hpp"
#include "tests/process.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

// Names nobody should have, and how they are shown.
struct Odd {
  std::string name, shown;
};
const std::vector<Odd> odd{
    {"a \"quoted\" name", "a &quot;quoted&quot; name"},
    {"back\\slash \\n \\l \\", "back\\slash \\n \\l \\"},
    {"two\nlines\r\tand a tab", "two\\nlines\\x0d\\tand a tab"},
    {"\x1b[31m\x01\x7f", "\\x1b[31m\\x01\\x7f"},
    {"emoji 😀 ¬ ∂", "emoji 😀 ¬ ∂"},
    {"<b>&amp;</b> ]]> -->", "&lt;b&gt;&amp;amp;&lt;/b&gt; ]]&gt; --&gt;"},
    {"broken \xff\xc3 \xed\xa0\x80", "broken \\xff\\xc3 \\xed\\xa0\\x80"},
    {"\xc2\x85 \xef\xbf\xbf", "\\x85 \\uffff"},
    {"]; } digraph {", "]; } digraph {"},
};

// XML's ways to write characters, undone as far as Graphviz uses them.
std::string without_references(std::string text) {
  for (const auto& [from, to] : {std::pair{"&#45;", "-"}, {"&#39;", "'"}, {"&#160;", " "}})
    for (std::size_t at; (at = text.find(from)) != std::string::npos;)
      text.replace(at, std::string(from).size(), to);
  return text;
}

}  // namespace

TEST_CASE("a tape in Graphviz's language reads as it should") {
  const Cells cells;
  CHECK(dot(cells.tape) == golden_text("cells.dot"));
}

TEST_CASE("the same tape folded") {
  const Cells cells;
  const std::string text = dot(cells.tape, {.glossary = Glossary::textbook, .fold = 1});
  CHECK_THAT(text, Says("step0[label=\"constant\\nsheet\\n(2, 2)\"") &&
                       Says("module2_1[label=\"cell, call 1 of 2") && Says("2 steps"));
  CHECK_THAT(text, !Says("cluster") && !Says("step2") && !Says("step3["));
  CHECK_THAT(text, Says("module5_1->step4 ;") && Says("step7->module5_1 ;"));
  const std::string half = dot(cells.tape, {.fold = 2});
  CHECK_THAT(
      half, Says("subgraph cluster2_1") && Says("module2_2[label=\"mix, call 1 of 2") && !Says("cluster2_2"));
}

TEST_CASE("a picture in Graphviz's language is the same bytes again, and changes nothing") {
  const Cells cells;
  const std::string before = dump(cells.tape), text = dot(cells.tape);
  CHECK(text == dot(Cells().tape));
  CHECK(dump(cells.tape) == before);
}

TEST_CASE("every name survives Graphviz") {
  Tape tape;
  for (const Odd& name : odd) {
    const Scope scope("module");
    (void)named(twice(named(ones({2}), name.name)), "y");
  }
  for (const Odd& name : odd) {
    const Scope scope(WholePath{name.name});
    (void)twice(ones({2}));
  }
  const std::string text = dot(tape);
  const auto program = installed("dot");
  if (!program) return;
  const Ran ran = run(*program, {"-Tsvg"}, text);
  CHECK(ran.status == 0);
  CHECK(ran.err == "");
  const std::string svg = without_references(ran.out);
  for (const Odd& name : odd) CHECK_THAT(svg, Says(">" + without_references(name.shown) + "<"));
}

TEST_CASE("the text for Graphviz grows with the steps and no faster") {
  const auto bytes = [](int steps) {
    Tape tape;
    Tensor x = parameter(ones({2}), "x");
    for (int i = 0; i < steps; ++i) {
      const Scope scope(i % 2 == 0 ? "even" : "odd");
      x = times(x, x);
    }
    return dot(tape).size();
  };
  const auto small = static_cast<double>(bytes(1000)), large = static_cast<double>(bytes(10000));
  CHECK(large / small < 11);
}

TEST_CASE("a file for Graphviz that cannot be written throws") {
  const Cells cells;
  std::FILE* file = std::fopen("/dev/full", "w");
  if (!file) return;
  std::setvbuf(file, nullptr, _IONBF, 0);
  CHECK_THROWS_WITH(dot(file, cells.tape), "[dot] the file could not be written");
  std::fclose(file);
}
