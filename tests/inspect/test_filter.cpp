#include "tests/catch.hpp"
#include "tests/inspect/dumped.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

std::vector<int> shown(const Tape& tape, const DumpFilter& filter) {
  return inspect::selected(tape, filter, Glossary::pencil);
}

using Steps = std::vector<int>;

// 0 sheet, 1 attend.query.weight, 2 attend.query, 3 twice, 4 rounded, then 5 attention, which is no child of
// attend, and 6 twice of 2.
struct Filtered : Small {
  Tensor apart, again;
  Filtered() {
    {
      const Scope scope("attention");
      apart = twice(z);
    }
    again = twice(y);
  }
};

}  // namespace

TEST_CASE("steps are chosen by range, word, role and module path") {
  const Filtered f;
  CHECK(shown(*f.tape, {}) == Steps{0, 1, 2, 3, 4, 5, 6});
  CHECK(shown(*f.tape, {.steps = StepRange{2, 3}}) == Steps{2, 3});
  CHECK(shown(*f.tape, {.steps = StepRange{.first = 5}}) == Steps{5, 6});
  CHECK(shown(*f.tape, {.steps = StepRange{6, 99}}) == Steps{6});
  CHECK(shown(*f.tape, {.word = "twice"}) == Steps{3, 5, 6});
  CHECK(shown(*f.tape, {.word = "parameter"}) == Steps{1});
  CHECK(shown(*f.tape, {.word = "WANT"}) == Steps{2});
  CHECK(shown(*f.tape, {.word = "times"}) == Steps{2});
  CHECK(shown(*f.tape, {.role = "query"}) == Steps{0, 1, 2});
  CHECK(shown(*f.tape, {.word = "nothing"}).empty());
}

TEST_CASE("a module path chooses its children too, and a parameter by its name") {
  const Filtered f;
  CHECK(shown(*f.tape, {.path = "attend"}) == Steps{0, 1, 2});
  CHECK(shown(*f.tape, {.path = "attend.query"}) == Steps{0, 1, 2});
  CHECK(shown(*f.tape, {.path = "attend.query.weight"}) == Steps{1});
  CHECK(shown(*f.tape, {.path = "attend.que"}).empty());
  CHECK(shown(*f.tape, {.path = "attention"}) == Steps{5});
}

TEST_CASE("ancestors and descendants of a step are chosen, and the ways between two") {
  const Filtered f;
  CHECK(shown(*f.tape, {.ancestors_of = 3}) == Steps{0, 1, 2, 3});
  CHECK(shown(*f.tape, {.descendants_of = 3}) == Steps{3, 4, 5});
  CHECK(shown(*f.tape, {.descendants_of = 1}) == Steps{1, 2, 3, 4, 5, 6});
  CHECK(shown(*f.tape, {.ancestors_of = 5, .descendants_of = 1}) == Steps{1, 2, 3, 5});
}

TEST_CASE("filters combine by and") {
  const Filtered f;
  CHECK(shown(*f.tape, {.steps = StepRange{4, 6}, .word = "twice"}) == Steps{5, 6});
  CHECK(shown(*f.tape, {.word = "twice", .ancestors_of = 5}) == Steps{3, 5});
  CHECK(shown(*f.tape, {.word = "twice", .role = "query"}).empty());
}

TEST_CASE("a dump that leaves steps out says how many it shows") {
  const Filtered f;
  CHECK(dump(*f.tape, {.filter = {.word = "twice"}}) ==
        "tape: 3 of 7 steps shown, 1 parameter, f32, no backward yet\n"
        "#  word   name       shape   from  value       BLAME\n"
        "3  twice             (2, 2)  2     [2      8]  no blame yet\n"
        "                                   [1.998 36]\n"
        "5  twice  attention  (2, 2)  3     [4     16]  no blame yet\n"
        "                                   [3.996 72]\n"
        "6  twice             (2, 2)  2     [2      8]  no blame yet\n"
        "                                   [1.998 36]\n");
  CHECK_THAT(dump(*f.tape, {.filter = {.word = "no such word"}}), Says("tape: 0 of 7 steps shown"));
  CHECK_THAT(dump(*f.tape, {.filter = {.ancestors_of = 6}}), !Says("shown 7"));
}

TEST_CASE("a filter that cannot be meant is an error") {
  const Filtered f;
  CHECK_THROWS_WITH(shown(*f.tape, {.ancestors_of = 7}),
                    "[filter] there is no step 7 to show the ancestors of; this tape has 7");
  CHECK_THROWS_WITH(shown(*f.tape, {.descendants_of = -1}), Says("no step -1 to show the descendants of"));
  CHECK_THROWS_WITH(shown(*f.tape, {.steps = StepRange{3, 2}}), Says("steps 3 to 2 are no range"));
  CHECK_THROWS_WITH(shown(*f.tape, {.steps = StepRange{-1, 2}}), Says("need 0 ≤ first ≤ last"));
}

TEST_CASE("the ancestors and descendants in a chain of a million steps are found without recursion") {
  const Tensor w = parameter(tensor(1), "w");
  Tape tape;
  Tensor y = w;
  while (tape.size() < 1'000'000) y = twice(y);
  CHECK(shown(tape, {.ancestors_of = 999'999}).size() == 1'000'000);
  CHECK(shown(tape, {.descendants_of = 500'000}).size() == 500'000);
}
