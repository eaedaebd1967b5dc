#include "optim/schedule.hpp"

#include "autograd/error.hpp"
#include "tests/catch.hpp"

using namespace pencil;
using namespace pencil::optim;

TEST_CASE("schedules: constant") {
  CHECK(constant()(1) == 1);
  CHECK(constant(0.5)(1000000) == 0.5);
}

TEST_CASE("schedules: linear warm-up, and what follows it counts from 1") {
  const Schedule plain = linear_warmup(4);
  CHECK(plain(1) == 0.25);
  CHECK(plain(3) == 0.75);
  CHECK(plain(4) == 1);
  CHECK(plain(5) == 1);
  CHECK(linear_warmup(0)(1) == 1);
  const Schedule joined =
      linear_warmup(4, [](std::int64_t step) { return 100.0 + static_cast<double>(step); });
  CHECK(joined(4) == 1);
  CHECK(joined(5) == 101);
  CHECK(joined(6) == 102);
  REQUIRE_THROWS_WITH(linear_warmup(-1), Says("[linear_warmup] -1 steps; need 0 or more"));
  REQUIRE_THROWS_WITH(linear_warmup(1, Schedule()), Says("the schedule to follow is empty"));
}

TEST_CASE("schedules: cosine") {
  const Schedule wave = cosine(10);
  CHECK(wave(1) == 1);
  CHECK(wave(6) == Approx(0.5));
  CHECK(wave(3) == Approx(0.9045084971874737));  // (1 + cos(π / 5)) / 2
  CHECK(std::abs(wave(11)) < 1e-15);
  CHECK(std::abs(wave(1000)) < 1e-15);
  CHECK(cosine(10, 0.2)(1) == 1);
  CHECK(cosine(10, 0.2)(11) == Approx(0.2));
  CHECK(cosine(10, 0.2)(6) == Approx(0.6));
  REQUIRE_THROWS_WITH(cosine(0), Says("[cosine] 0 steps; need at least 1"));
}
