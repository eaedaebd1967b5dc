#include "autograd/kernels/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sys/wait.h>
#include <unistd.h>
#endif

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

TEST_CASE("parallel_for does its work however many threads call it at once", "[threads]") {
  const WithThreads with(3);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&wrong, caller] {
      for (std::int64_t round = 0; round < 300; ++round) {
        const std::int64_t n = 1 + (round * 7 + caller) % 40;
        std::vector<std::int64_t> squares(static_cast<std::size_t>(n));
        parallel_for(n, 3, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) squares[static_cast<std::size_t>(i)] = i * i + round;
        });
        for (std::int64_t i = 0; i < n; ++i) wrong += squares[static_cast<std::size_t>(i)] != i * i + round;
      }
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(wrong == 0);
}

TEST_CASE("the number of threads may grow and shrink between calls", "[threads]") {
  for (const int team : {2, 6, 1, 3, 9, 2}) {
    const WithThreads with(team);
    for (int round = 0; round < 200; ++round) {
      std::vector<int> seen(50);
      parallel_for(50, 1, [&](std::int64_t i, std::int64_t) { ++seen[static_cast<std::size_t>(i)]; });
      REQUIRE(std::count(seen.begin(), seen.end(), 1) == 50);
    }
  }
}

TEST_CASE("no more threads than asked for work on a call", "[threads]") {
  {
    const WithThreads with(6);
    parallel_for(100, 1, [](std::int64_t, std::int64_t) {});
  }
  const WithThreads with(2);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  for (int round = 0; round < 100; ++round) {
    seen.clear();
    parallel_for(20, 1, [&](std::int64_t, std::int64_t) {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    });
    REQUIRE(seen.size() <= 2);
  }
}

TEST_CASE("a thread that has thrown and one that was called from inside work in parallel again",
          "[threads]") {
  const WithThreads with(2);
  const auto meets_another = [] {  // each of two pieces waits for the other one to have begun
    std::atomic<int> begun{0};
    parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
      ++begun;
      while (begun < 2) std::this_thread::yield();
    });
  };
  meets_another();
  CHECK_THROWS(parallel_for(2, 1, [](std::int64_t, std::int64_t) { throw 1; }));
  parallel_for(2, 1,
               [](std::int64_t, std::int64_t) { parallel_for(2, 1, [](std::int64_t, std::int64_t) {}); });
  meets_another();
}

#ifdef __linux__
TEST_CASE("a child of fork works on its own thread and ends", "[threads]") {
  const WithThreads with(4);
  const auto sum = [] {
    std::atomic<std::int64_t> total{0};
    parallel_for(1000, 10, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) total += i;
    });
    return total.load();
  };
  REQUIRE(sum() == 499500);
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      alarm(60);  // ends it, should it hang
      _exit(sum() == 499500 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(sum() == 499500);
  }
}
#endif
