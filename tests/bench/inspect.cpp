// What inspection costs: keeping a tape for reading, measuring and guarding it, and printing it.

#include <benchmark/benchmark.h>

#include "tests/bench/training.hpp"

namespace pencil::bench {
namespace {

void training_step(benchmark::State& state, const TapeOptions& options) {
  Training training;
  training.step(options);
  for (auto _ : state) training.step(options);
}
BENCHMARK_CAPTURE(training_step, keep_leaves, TapeOptions{.keep = Keep::leaves})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(training_step, keep_all, TapeOptions{.keep = Keep::all})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(training_step, timed, TapeOptions{.keep = Keep::leaves, .time = true})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(training_step, guarded, TapeOptions{.keep = Keep::leaves, .stop_on_nonfinite = true})
    ->Unit(benchmark::kMillisecond);

// A chain of so many steps on eight numbers, swept.
struct Chain {
  explicit Chain(std::int64_t steps) {
    Tensor x = parameter(full({8}, 0.5), "x");
    const Tensor w = parameter(full({8}, 0.9), "w");
    Tensor y = x;
    for (std::int64_t i = 0; i < steps; i += 2) {
      y = y * w;
      y = tanh(y);
    }
    tape.backward(y, {.upstream = full({8}, 1)});
    last = y;
    first = x;
  }
  Tape tape;
  Tensor first, last;
};

template <class Ask>
void ask_chain(benchmark::State& state, Ask&& ask) {
  const Chain chain(state.range(0));
  for (auto _ : state) ask(chain);
  state.SetComplexityN(state.range(0));
  state.counters["a step"] =
      benchmark::Counter(static_cast<double>(state.range(0)),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void dump_text(benchmark::State& state) {
  ask_chain(state, [](const Chain& chain) {
    std::size_t bytes = 0;
    dump(chain.tape, {}, [&](std::string_view piece) { bytes += piece.size(); });
    benchmark::DoNotOptimize(bytes);
  });
}
void dump_folded(benchmark::State& state) {
  ask_chain(state, [](const Chain& chain) { benchmark::DoNotOptimize(dump(chain.tape, {.fold = 1})); });
}
void dump_as_json(benchmark::State& state) {
  ask_chain(state, [](const Chain& chain) {
    std::size_t bytes = 0;
    dump_json(chain.tape, {}, [&](std::string_view piece) { bytes += piece.size(); });
    benchmark::DoNotOptimize(bytes);
  });
}
void why_of_first(benchmark::State& state) {
  ask_chain(state,
            [](const Chain& chain) { benchmark::DoNotOptimize(why(chain.tape, chain.last, chain.first)); });
}
void first_nonfinite_of_none(benchmark::State& state) {
  ask_chain(state, [](const Chain& chain) { benchmark::DoNotOptimize(first_nonfinite(chain.tape)); });
}
void ledger_of_first(benchmark::State& state) {
  ask_chain(state,
            [](const Chain& chain) { benchmark::DoNotOptimize(ledger(chain.tape, chain.first, {0})); });
}
#define PENCIL_GROWING(f) BENCHMARK(f)->Arg(250000)->Arg(500000)->Arg(1000000)->Unit(benchmark::kMillisecond)
PENCIL_GROWING(dump_text);
PENCIL_GROWING(dump_folded);
PENCIL_GROWING(dump_as_json);
PENCIL_GROWING(why_of_first);
PENCIL_GROWING(first_nonfinite_of_none);
PENCIL_GROWING(ledger_of_first);

}  // namespace
}  // namespace pencil::bench
