#include "autograd/inspect/outline.hpp"
#include "autograd/inspect/picture.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;
using namespace pencil::tests;
using inspect::Call;
using inspect::Node;
using inspect::Outline;
using inspect::Picture;

namespace {

// "0 cell (−1) 2…3: 2 steps, 1/2"
std::string text(const Outline& outline) {
  std::string all;
  for (const Call& c : outline.calls())
    all += fmt::format("{} in {}, {}…{}, {} steps, call {} of {}\n", c.path, c.parent, c.first, c.last,
                       c.steps, c.turn, c.turns);
  return all;
}

std::string nodes_text(const Picture& picture) {
  std::string all;
  for (const Node& node : picture.nodes())
    all += fmt::format("{}{}{} ", node.folded >= 0 ? "m" : "", node.step,
                       node.inside >= 0 ? fmt::format(" in {}", node.inside) : "") +
           "| ";
  return all;
}

}  // namespace

TEST_CASE("the outline of a tape: each call of a module with the calls inside") {
  const Cells cells;
  const Outline outline(cells.tape, Uses(cells.tape));
  CHECK(text(outline) ==
        "cell in -1, 2…3, 2 steps, call 1 of 2\n"
        "cell.mix in 0, 2…2, 1 steps, call 1 of 2\n"
        "cell in -1, 5…6, 2 steps, call 2 of 2\n"
        "cell.mix in 2, 5…5, 1 steps, call 2 of 2\n");
  std::vector<int> of;
  for (int i = 0; i < cells.tape.size(); ++i) of.push_back(outline.call_of(i));
  CHECK(of == std::vector{-1, -1, 1, 0, -1, 3, 2, -1});  // the weight is read by both calls
  CHECK(outline.call(1).name() == "mix");
}

TEST_CASE("a leaf belongs to the call around its readers, a named constant to none") {
  const Tensor w = parameter(tensor({1, 2}), "w"), x = named(tensor({1, 2}), "x"), plain = tensor({3, 4});
  Tape tape;
  {
    const Scope outer("attend");
    Tensor q;
    {
      const Scope inner("query");
      q = times(x, w);
    }
    (void)times(q, plain);
    {
      const Scope inner("key");
      (void)times(q, w);
    }
  }
  const Outline outline(tape, Uses(tape));
  const auto path = [&](const Tensor& t) {
    const int call = outline.call_of(tape.step_of(t));
    return call < 0 ? "" : std::string(outline.call(call).path);
  };
  CHECK(path(w) == "attend");
  CHECK(path(x) == "");
  CHECK(path(plain) == "attend");
}

TEST_CASE("paths that are odd make an outline all the same") {
  Tape tape;
  Tensor x = ones({2});
  for (const char* path : {"a..b", ".", "a.", ".a", "a.b.c", "a.bc", "a.b", "a"}) {
    const Scope scope(WholePath{path});
    x = twice(x);
  }
  const Outline outline(tape, Uses(tape));
  for (int i = 1; i < tape.size(); ++i) CHECK(outline.call(outline.call_of(i)).path == tape.step(i).path());
  for (std::size_t i = 0; i < outline.calls().size(); ++i)
    CHECK(outline.calls()[i].parent < static_cast<int>(i));
}

TEST_CASE("a picture folds the calls below a depth, and each source stays before its reader") {
  const Cells cells;
  const TapeGraph graph(cells.tape);
  CHECK(nodes_text(Picture(graph, 0)) == "0 | 1 | 2 in 1 | 3 in 0 | 4 | 5 in 3 | 6 in 2 | 7 | ");
  CHECK(nodes_text(Picture(graph, 1)) == "0 | 1 | m2 | 4 | m5 | 7 | ");
  CHECK(nodes_text(Picture(graph, 2)) == "0 | 1 | m2 in 0 | 3 in 0 | 4 | m5 in 2 | 6 in 2 | 7 | ");
  CHECK(Picture(graph, 0).title(2) == "cell, call 2 of 2");
  CHECK_THROWS_WITH(Picture(graph, -1), "[picture] fold is -1; need a depth, or 0 to fold nothing");
  for (const int fold : {0, 1, 2, 3}) {
    const Picture picture(graph, fold);
    for (const inspect::Arrow& arrow : picture.arrows()) CHECK(arrow.source < arrow.reader);
  }
}

TEST_CASE("a folded call stands behind all it was computed from, leaves read halfway through included") {
  const Tensor w = parameter(tensor({1, 2}), "w");
  const Tensor late = named(tensor({3, 4}), "late");
  Tape tape;
  {
    const Scope scope("cell");
    const Tensor y = twice(w);
    (void)times(y, late);
  }
  const Picture picture(TapeGraph(tape), 1);
  CHECK(nodes_text(picture) == "2 | m1 | ");
  REQUIRE(picture.arrows().size() == 1);
  CHECK(picture.arrows()[0] == inspect::Arrow{1, 0});
}
