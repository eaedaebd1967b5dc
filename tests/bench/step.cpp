// The documents' training step whole, and judging reviews. What is timed is first held against a twin in
// double precision that goes step by step, one plain op after the other (Detail::steps).

#include "autograd/kernels/threads.hpp"
#include "tests/bench/measure.hpp"
#include "tests/bench/training.hpp"
#ifdef PENCIL_BENCH_TORCH
#include "tests/bench/torch.hpp"
#endif

namespace pencil::bench {
namespace {

/// A twin of `training` in double precision, with the same numbers.
Training twin_of(Training& training) {
  Training twin(f64);
  const std::vector<Tensor> from = training.parameters();
  std::vector<Tensor> to = twin.parameters();
  for (std::size_t i = 0; i < from.size(); ++i) to[i].assign(from[i].to(f64));
  return twin;
}

/// All gradients one after another.
std::vector<double> gradients(Training& training) {
  std::vector<double> all;
  for (const Tensor& parameter : training.parameters()) {
    const std::vector<double> one = parameter.grad().to_vector();
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void check_step() {
  Training training;
  Training twin = twin_of(training);
  const Tensor loss = training.backward();
  need_near("loss", loss, twin.backward({.detail = Detail::steps}).to_vector());
  const std::vector<double> got = gradients(training);
  need_near("gradients", tensor(std::span(got), {static_cast<std::int64_t>(got.size())}), gradients(twin));
}

/// The largest memory of this process in its first steps; asked for before anything else has run.
double peak_of_first_steps() {
  reset_peak_memory();
  Training training;
  for (int i = 0; i < 3; ++i) training.step();
  return peak_memory();
}

void training_step(benchmark::State& state) {
  static const double peak = peak_of_first_steps();
  if (!passes(state, "training step", check_step)) return;
  Training training;
  measure(state, {.flop = 3 * training.forward_flop(Training::batch)}, [&] { training.step(); });
  state.counters["peak"] = {peak, benchmark::Counter::kDefaults, benchmark::Counter::kIs1024};
}
BENCHMARK(training_step)->Apply(one_and_two);

void judge(benchmark::State& state, std::int64_t reviews) {
  Training training;
  if (!passes(state, "judging", [&] {
        Training twin = twin_of(training);
        need_near("logits", training.judge(Training::batch), twin.judge(Training::batch).to_vector());
      }))
    return;
  measure(state, {.flop = training.forward_flop(reviews)},
          [&] { benchmark::DoNotOptimize(training.judge(reviews)); });
}
BENCHMARK_CAPTURE(judge, batch, Training::batch)->Apply(one_and_two);
BENCHMARK_CAPTURE(judge, one_review, 1)->Apply(one_and_two);

#ifdef PENCIL_BENCH_TORCH
/// Runs f untimed until what ran before has let go of the processor, and then once more, timed.
template <class F>
double seconds_settled(F&& f) {
  double passed = 0;
  while (passed < 0.03) passed += seconds_of(f);
  return seconds_of(f);
}

/// The medians of one job here and in libtorch, in turn, there with each setting of threads up to as many as
/// here; `ratio` says how much longer libtorch takes with its best.
template <class Ours, class Theirs>
void take_turns(benchmark::State& state, TorchTwin& twin, const Ours& ours, const Theirs& theirs) {
  const int threads = static_cast<int>(state.range(0)), before = kernels::threads();
  std::vector<TorchThreads> settings;
  for (int ops = 1; ops <= threads; ++ops)
    for (int blas = 1; blas <= threads; ++blas) settings.push_back({ops, blas});
  std::vector<double> our_times;
  std::vector<std::vector<double>> their_times(settings.size());
  kernels::set_threads(threads);
  for (auto _ : state) {
    our_times.push_back(seconds_settled(ours));
    state.SetIterationTime(our_times.back());
    for (std::size_t i = 0; i < settings.size(); ++i) {
      twin.set_threads(settings[i]);
      their_times[i].push_back(seconds_settled(theirs));
    }
    twin.set_threads({1, 1});
  }
  kernels::set_threads(before);
  double best = median(their_times[0]);
  for (const std::vector<double>& times : their_times) best = std::min(best, median(times));
  state.counters["median"] = median(our_times);
  state.counters["torch"] = best;
  state.counters["ratio"] = best / median(our_times);
}

TorchTwin torch_twin_of(Training& training) {
  std::vector<std::vector<float>> weights;
  for (const Tensor& parameter : training.parameters()) weights.push_back(parameter.to_vector<float>());
  return TorchTwin(weights, training.tokens().to_vector<std::int64_t>(), training.labels().to_vector<float>(),
                   Training::batch, Training::length);
}

bool torch_agrees(benchmark::State& state) {
  return passes(state, "libtorch's twin", [] {
    Training training;
    TorchTwin twin = torch_twin_of(training);
    const std::vector<float> logits = twin.judge(Training::batch);
    need_near("libtorch's logits", training.judge(Training::batch), {logits.begin(), logits.end()});
  });
}

void training_step_with_torch(benchmark::State& state) {
  if (!torch_agrees(state)) return;
  Training training;
  TorchTwin twin = torch_twin_of(training);
  take_turns(
      state, twin, [&] { training.step(); }, [&] { twin.step(); });
}
void judge_with_torch(benchmark::State& state, std::int64_t reviews) {
  if (!torch_agrees(state)) return;
  Training training;
  TorchTwin twin = torch_twin_of(training);
  take_turns(
      state, twin, [&] { training.judge(reviews); }, [&] { twin.judge(reviews); });
}
void turns(benchmark::internal::Benchmark* b) { one_and_two(b->Iterations(15)); }
BENCHMARK(training_step_with_torch)->Apply(turns);
BENCHMARK_CAPTURE(judge_with_torch, batch, Training::batch)->Apply(turns);
BENCHMARK_CAPTURE(judge_with_torch, one_review, 1)->Apply(turns);
#endif

}  // namespace
}  // namespace pencil::bench
