// How the benchmarks measure: every round by itself, and what the machine can do just before and just after,
// so that work beside this one slows both.
#pragma once

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "autograd/autograd.hpp"

namespace pencil::bench {

/// What one round does, for its share of the machine's limit: operations of its matrix products (a
/// multiplication and an addition are two), or else the bytes that it must read and write at least once.
struct Cost {
  double flop = 0;
  double bytes = 0;
};

template <class F>
double seconds_of(F&& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> numbers);

/// Operations a second of products of 1024 × 1024 matrices of float, each thread multiplying rows of its own
/// by one call of BLAS: the best seen so far in this run.
double product_rate(int threads);

/// Bytes read and written a second where half of that many bytes is copied into the other half: the best of
/// some.
double copy_rate(std::int64_t bytes, int threads);

/// Calls body() as often as the state wants with state.range(0) threads. Beside Google Benchmark's time:
/// `best` and `median`, of single rounds, in seconds; FLOP/s or bytes/s of the best; `limit`, the share that
/// this is of the machine's own rate for that many threads (see Cost). Best against best, because other work
/// on the machine only ever adds time.
void measure(benchmark::State& state, const Cost& cost, const std::function<void()>& body);

/// The largest memory of this process, in bytes, since reset_peak_memory(); 0 where the system does not say.
double peak_memory();
void reset_peak_memory();

/// Runs check() unless a check of that name has passed before, on one thread. What it throws becomes the
/// benchmark's error, and false comes back.
bool passes(benchmark::State& state, const std::string& name, const std::function<void()>& check);

/// Throws Error unless all numbers of `got` are within `tolerance` times the largest of `wanted`.
void need_near(const std::string& what, const Tensor& got, const std::vector<double>& wanted,
               double tolerance = 1e-5);

/// On one thread and on two.
inline void one_and_two(benchmark::internal::Benchmark* b) {
  b->ArgName("threads")->Arg(1)->Arg(2)->UseManualTime()->Unit(benchmark::kMicrosecond);
}

}  // namespace pencil::bench
