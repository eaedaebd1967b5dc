// The parts of the documents' training step, each at its size there: 64 reviews of 100 words, width 32, two
// heads of 32, 10,000 rows of the table. Each is held against plain loops before it is timed.

#include "autograd/kernels/optimizer.hpp"
#include "tests/bench/measure.hpp"
#include "tests/bench/naive.hpp"

namespace pencil::bench {
namespace {

constexpr std::int64_t batch = 64, length = 100, words = batch * length, width = 32, heads = 2,
                       wide = heads * width, vocabulary = 10000;

Tensor normal(const Shape& shape, std::uint64_t seed) {
  Rng rng{seed};
  return randn(shape, rng);
}

naive::Numbers numbers(const Tensor& x) { return x.to_vector(); }

double bytes_of(std::initializer_list<Tensor> tensors) {
  double bytes = 0;
  for (const Tensor& x : tensors) bytes += 4 * static_cast<double>(x.size());
  return bytes;
}

/// Times the gradients of y with respect to xs, after they have been found near `wanted()`.
template <class Wanted>
void time_gradients(benchmark::State& state, const char* what, const Cost& cost, Tape& tape, const Tensor& y,
                    const std::vector<Tensor>& xs, const Tensor& dy, const Wanted& wanted) {
  const auto gradients = [&] { return tape.gradient(y, xs, {.upstream = dy}); };
  if (!passes(state, what, [&] {
        const std::vector<Tensor> got = gradients();
        const std::vector<naive::Numbers> want = wanted();
        for (std::size_t i = 0; i < got.size(); ++i) need_near(what, got[i], want[i]);
      }))
    return;
  measure(state, cost, [&] { benchmark::DoNotOptimize(gradients()); });
}

/// The same for a function's value.
template <class F, class Wanted>
void time_values(benchmark::State& state, const char* what, const Cost& cost, const F& f,
                 const Wanted& wanted) {
  if (!passes(state, what, [&] { need_near(what, f(), wanted()); })) return;
  measure(state, cost, [&] { benchmark::DoNotOptimize(f()); });
}

// One of the three projections into heads.
struct Projection {
  Tensor x = normal({batch, length, width}, 1), w = normal({wide, width}, 2), b = normal({wide}, 3);
  Tensor dy = normal({batch, length, wide}, 4);
  static constexpr double flop = 2.0 * words * width * wide;
};
void projection(benchmark::State& state) {
  const Projection p;
  time_values(
      state, "projection", {.flop = Projection::flop}, [&] { return linear(p.x, p.w, p.b); },
      [&] { return naive::linear(words, numbers(p.x), numbers(p.w), numbers(p.b)); });
}
void projection_gradient(benchmark::State& state) {
  const Projection p;
  Tape tape;
  const Tensor y = linear(p.x, p.w, p.b);
  time_gradients(state, "gradient of a projection", {.flop = 2 * Projection::flop}, tape, y, {p.x, p.w, p.b},
                 p.dy,
                 [&] { return naive::linear_gradient(words, numbers(p.x), numbers(p.w), numbers(p.dy)); });
}
BENCHMARK(projection)->Apply(one_and_two);
BENCHMARK(projection_gradient)->Apply(one_and_two);

struct Attention {
  Tensor q = normal({batch, length, wide}, 1), k = normal({batch, length, wide}, 2),
         v = normal({batch, length, wide}, 3), dy = normal({batch, length, wide}, 4);
  static constexpr double flop = 4.0 * words * length * wide;
  Tensor attend() const { return attention(q, k, v, {.heads = heads}); }
  naive::Attended plain() const {
    return naive::attention(batch, length, heads, numbers(q), numbers(k), numbers(v), numbers(dy));
  }
};
void attention_forward(benchmark::State& state) {
  const Attention a;
  time_values(
      state, "attention", {.flop = Attention::flop}, [&] { return a.attend(); },
      [&] { return a.plain().out; });
}
// Scores that are computed again do not count.
void attention_gradient(benchmark::State& state) {
  const Attention a;
  Tape tape;
  const Tensor y = a.attend();
  time_gradients(state, "gradient of attention", {.flop = 2 * Attention::flop}, tape, y, {a.q, a.k, a.v},
                 a.dy, [&] {
                   const naive::Attended plain = a.plain();
                   return std::vector<naive::Numbers>{plain.dq, plain.dk, plain.dv};
                 });
}
BENCHMARK(attention_forward)->Apply(one_and_two);
BENCHMARK(attention_gradient)->Apply(one_and_two);

// Of as many scores as attention has.
constexpr std::int64_t score_rows = words * heads;
void softmax_forward(benchmark::State& state) {
  const Tensor x = normal({score_rows, length}, 1);
  time_values(
      state, "softmax", {.bytes = bytes_of({x, x})}, [&] { return softmax(x); },
      [&] { return naive::softmax(score_rows, numbers(x)); });
}
void softmax_gradient(benchmark::State& state) {
  const Tensor x = normal({score_rows, length}, 1), dy = normal({score_rows, length}, 2);
  Tape tape;
  const Tensor y = softmax(x);
  time_gradients(state, "gradient of softmax", {.bytes = bytes_of({y, dy, x})}, tape, y, {x}, dy, [&] {
    return std::vector<naive::Numbers>{
        naive::softmax_gradient(score_rows, naive::softmax(score_rows, numbers(x)), numbers(dy))};
  });
}
BENCHMARK(softmax_forward)->Apply(one_and_two);
BENCHMARK(softmax_gradient)->Apply(one_and_two);

constexpr double epsilon = 1e-5;
struct Norm {
  Tensor x = normal({batch, length, width}, 1), w = normal({width}, 2), b = normal({width}, 3),
         dy = normal({batch, length, width}, 4);
};
void layer_norm_forward(benchmark::State& state) {
  const Norm n;
  time_values(
      state, "layer norm", {.bytes = bytes_of({n.x, n.x})},
      [&] { return layer_norm(n.x, n.w, n.b, epsilon); },
      [&] { return naive::layer_norm(numbers(n.x), numbers(n.w), numbers(n.b), epsilon); });
}
void layer_norm_gradient(benchmark::State& state) {
  const Norm n;
  Tape tape;
  const Tensor y = layer_norm(n.x, n.w, n.b, epsilon);
  time_gradients(
      state, "gradient of layer norm", {.bytes = bytes_of({n.x, n.dy, n.x})}, tape, y, {n.x, n.w, n.b}, n.dy,
      [&] { return naive::layer_norm_gradient(numbers(n.x), numbers(n.w), epsilon, numbers(n.dy)); });
}
BENCHMARK(layer_norm_forward)->Apply(one_and_two);
BENCHMARK(layer_norm_gradient)->Apply(one_and_two);

struct Table {
  Tensor rows = normal({vocabulary, width}, 1), ids = token_numbers(), dy = normal({batch, length, width}, 2);
  static Tensor token_numbers() {
    Rng rng{3};
    Tensor ids = empty({batch, length}, i32);
    for (std::int32_t& id : ids.writable<std::int32_t>())
      id = static_cast<std::int32_t>(rng.below(vocabulary));
    return ids;
  }
};
void embedding_forward(benchmark::State& state) {
  const Table t;
  time_values(
      state, "embedding", {.bytes = bytes_of({t.dy, t.dy})}, [&] { return embedding(t.rows, t.ids); },
      [&] { return naive::embedding(numbers(t.rows), width, t.ids.to_vector<std::int32_t>()); });
}
// A dense gradient: all its rows are written, those of the batch read and added.
void embedding_gradient(benchmark::State& state) {
  const Table t;
  Tape tape;
  const Tensor y = embedding(t.rows, t.ids);
  time_gradients(
      state, "gradient of embedding", {.bytes = bytes_of({t.dy, t.rows})}, tape, y, {t.rows}, t.dy, [&] {
        return std::vector<naive::Numbers>{
            naive::embedding_gradient(vocabulary, width, t.ids.to_vector<std::int32_t>(), numbers(t.dy))};
      });
}
BENCHMARK(embedding_forward)->Apply(one_and_two);
BENCHMARK(embedding_gradient)->Apply(one_and_two);

// The table's update: reads weights, gradient and both moments, writes all but the gradient.
void adam(benchmark::State& state) {
  constexpr std::int64_t n = vocabulary * width;
  const Tensor g = normal({n}, 2);
  Tensor w = normal({n}, 1), m = zeros({n}), v = zeros({n});
  std::int64_t t = 0;
  const auto data = [](Tensor& x) { return x.writable<float>().data(); };
  const auto update = [&] {
    kernels::adam<float>(n, {}, ++t, data(w), g.values<float>().data(), data(m), data(v));
  };
  if (!passes(state, "adam", [&] {
        const naive::Numbers wanted = naive::adam(numbers(w), numbers(g));
        update();
        need_near("adam", w, wanted);
      }))
    return;
  measure(state, {.bytes = 7.0 * 4 * n}, update);
}
BENCHMARK(adam)->Apply(one_and_two);

}  // namespace
}  // namespace pencil::bench
