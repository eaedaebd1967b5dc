// What a user's formula costs beside the library's own op: number by number, and over rows.

#include <benchmark/benchmark.h>

#include "autograd/autograd.hpp"

namespace pencil {
namespace {

using Function = std::function<Tensor(Inputs)>;

const auto own_silu = elementwise("own_silu", [](auto x) { return x / (1 + exp(-x)); });
const double slope = 1.702;
const auto captured_silu =
    elementwise("captured_silu", [s = slope](auto x) { return x / (1 + exp(-s * x)); });
const auto own_softmax = row_formula("own_softmax", [](auto x) {
  const auto e = exp(x - constant(max(x)));
  return e / sum(e);
});
const auto own_layer_norm = row_formula("own_layer_norm", [](auto x, auto weight, auto bias) {
  const auto centred = x - mean(x);
  return centred * rsqrt(mean(square(centred)) + 1e-5) * weight + bias;
});
const auto own_logsumexp = reduction("own_logsumexp", [](auto x) {
  const auto most = constant(max(x));
  return most + log(sum(exp(x - most)));
});

// Forward alone, off the tape.
void forward(benchmark::State& state, const Function& f, const std::vector<Tensor>& inputs) {
  for (auto _ : state) benchmark::DoNotOptimize(f(inputs));
  state.SetItemsProcessed(state.iterations() * inputs[0].size());
}

// The rule alone, again and again on one tape.
void gradient(benchmark::State& state, const Function& f, const std::vector<Tensor>& inputs) {
  Tape tape;
  const Tensor y = f(inputs);
  const Tensor upstream = ones(y.shape(), y.dtype());
  for (auto _ : state) benchmark::DoNotOptimize(tape.gradient(y, {inputs[0]}, {.upstream = upstream}));
  state.SetItemsProcessed(state.iterations() * inputs[0].size());
}

void add(const std::string& name, const Function& f, const Shape& shape) {
  Rng rng{1};
  const Shape width{shape[-1]};
  const std::vector<Tensor> inputs{randn(shape, rng), randn(width, rng), randn(width, rng)};
  const std::string title = fmt::format("{} {}", name, to_string(shape));
  benchmark::RegisterBenchmark((title + " forward").c_str(), forward, f, inputs);
  benchmark::RegisterBenchmark((title + " gradient").c_str(), gradient, f, inputs);
}

const bool added = [] {
  for (const Shape& shape : {Shape{1000, 1000}}) {
    add(
        "silu", [](Inputs in) { return silu(in[0]); }, shape);
    add(
        "own silu", [](Inputs in) { return own_silu(in[0]); }, shape);
    add(
        "own silu, with a captured number", [](Inputs in) { return captured_silu(in[0]); }, shape);
  }
  for (const Shape& shape : {Shape{6400, 32}, Shape{1000, 1000}, Shape{10, 100000}}) {
    add(
        "softmax", [](Inputs in) { return softmax(in[0]); }, shape);
    add(
        "own softmax", [](Inputs in) { return own_softmax(in[0]); }, shape);
    add(
        "layer_norm", [](Inputs in) { return layer_norm(in[0], in[1], in[2]); }, shape);
    add(
        "own layer_norm", [](Inputs in) { return own_layer_norm(in[0], in[1], in[2]); }, shape);
    add(
        "logsumexp", [](Inputs in) { return logsumexp(in[0], -1); }, shape);
    add(
        "own logsumexp", [](Inputs in) { return own_logsumexp(in[0]); }, shape);
  }
  return true;
}();

}  // namespace
}  // namespace pencil
