#include "autograd/inspect/uses.hpp"
#include "tests/catch.hpp"
#include "tests/inspect/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

std::vector<Use> list(const Uses& uses, int step) {
  const auto found = uses.of(step);
  return {found.begin(), found.end()};
}

}  // namespace

TEST_CASE("uses say who reads a step and as which input, in the order of the tape") {
  const Tensor w = parameter(tensor({1, 2}), "w");
  Tape tape;
  const Tensor y = twice(w);
  const Tensor z = times(y, w);
  const Tensor square = times(z, z);
  const Tensor scaled = square * 2.0;
  const Uses uses(tape);
  CHECK(uses.steps() == 5);
  CHECK(uses.size() == 6);
  CHECK(list(uses, 0) == std::vector<Use>{{1, 0}, {2, 1}});
  CHECK(list(uses, 1) == std::vector<Use>{{2, 0}});
  CHECK(list(uses, 2) == std::vector<Use>{{3, 0}, {3, 1}});
  CHECK(list(uses, 3) == std::vector<Use>{{4, 0}});
  CHECK(list(uses, tape.step_of(scaled)).empty());
  CHECK_THROWS_WITH(uses.of(5), "[uses] there is no step 5; the tape has 5");
  CHECK_THROWS_WITH(uses.of(-1), "[uses] there is no step -1; the tape has 5");
}

TEST_CASE("the uses of an empty tape, and of one that goes on") {
  Tape tape;
  CHECK(Uses(tape).steps() == 0);
  CHECK_THROWS_WITH(Uses(tape).of(0), Says("the tape has 0"));
  const Tensor y = twice(ones({2}));
  const Uses before(tape);
  (void)twice(y);
  CHECK(before.of(tape.step_of(y)).empty());
  CHECK(Uses(tape).of(tape.step_of(y)).size() == 1);
}

TEST_CASE("every input of every step is one use of the step it came from") {
  Rng rng{11};
  Tape tape;
  std::vector<Tensor> made{parameter(randn({3}, rng)), parameter(randn({3}, rng))};
  const auto any = [&] { return made[static_cast<std::size_t>(rng.below(made.size()))]; };
  for (int i = 0; i < 200; ++i) {
    const Tensor a = any(), b = any();
    made.push_back(times(a, b));
  }
  const Uses uses(tape);
  std::size_t count = 0;
  for (int i = 0; i < tape.size(); ++i)
    for (int input = 0; input < tape.step(i).inputs(); ++input, ++count) {
      const std::vector<Use> readers = list(uses, tape.step(i).input_step(input));
      CHECK(std::ranges::count(readers, Use{i, input}) == 1);
    }
  CHECK(uses.size() == count);
}
