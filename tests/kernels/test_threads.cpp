#include "autograd/kernels/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/kernels/support.hpp"

using namespace pencil::kernels;
using support::WithThreads;

TEST_CASE("parallel_for covers every number once, in pieces of the grain", "[threads]") {
  for (const int team : {1, 2, 5}) {
    const WithThreads with(team);
    for (const std::int64_t n : {0, 1, 6, 7, 8, 14, 100}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(n));
      std::atomic<int> pieces{0};
      std::atomic<int> wrong{0};
      parallel_for(n, 7, [&](std::int64_t begin, std::int64_t end) {
        ++pieces;
        if (begin % 7 != 0 || end != std::min<std::int64_t>(n, begin + 7)) ++wrong;
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      CHECK(pieces == (n + 6) / 7);
      CHECK(wrong == 0);
      for (const auto& count : seen) CHECK(count == 1);
    }
  }
}

TEST_CASE("a nested parallel_for runs on the caller's thread with the same pieces", "[threads]") {
  const WithThreads with(4);
  std::atomic<std::int64_t> sum{0};
  std::atomic<int> pieces{0};
  parallel_for(8, 1, [&](std::int64_t outer, std::int64_t) {
    std::int64_t own = 0;  // not atomic: only this thread may write it
    parallel_for(10, 3, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) own += outer * 10 + i;
      ++pieces;
    });
    sum += own;
  });
  CHECK(sum == 79 * 80 / 2);
  CHECK(pieces == 8 * 4);
}

TEST_CASE("the exception of the first piece reaches the caller after all pieces ran", "[threads]") {
  for (const int team : {1, 3}) {
    const WithThreads with(team);
    std::atomic<int> ran{0};
    REQUIRE_THROWS_WITH(parallel_for(20, 1,
                                     [&](std::int64_t begin, std::int64_t) {
                                       ++ran;
                                       if (begin % 5 == 3) throw std::runtime_error(std::to_string(begin));
                                     }),
                        Says("3"));
    CHECK(ran == 20);
  }
}

TEST_CASE("fewer than one thread counts as one", "[threads]") {
  const WithThreads with(-3);
  CHECK(threads() == 1);
}
