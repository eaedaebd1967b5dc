// Large tensors: the same bits for any number of threads.

#include <cstring>

#include "autograd/kernels/threads.hpp"
#include "autograd/ops/attention.hpp"
#include "autograd/ops/dropout.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/index.hpp"
#include "autograd/ops/loss.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/pool.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/softmax.hpp"
#include "tests/autograd/op_table.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

struct Large {
  const char* what;
  std::vector<Tensor> inputs;
  Call f;
};

Tensor ids(const Shape& shape, std::uint64_t end) {
  Rng rng{11};
  Tensor out = empty(shape, i32);
  for (std::int32_t& id : out.writable<std::int32_t>()) id = static_cast<std::int32_t>(rng.below(end));
  return out;
}

std::vector<Large> large() {
  const auto any = [](const Shape& shape) {
    return random(shape, static_cast<std::uint64_t>(shape.size()), f32);
  };
  const Tensor sheet = any({40, 60, 33}), cube = any({70, 50, 31});
  return {
      {"exp of a product", {cube, any({50, 1})}, [](Inputs in) { return exp(in[0] * in[1]); }},
      {"sum",
       {cube},
       [](Inputs in) {
         return sum(square(in[0]), {0, 2});
       }},
      {"mean", {cube}, [](Inputs in) { return mean(in[0] * in[0]); }},
      {"max", {cube}, [](Inputs in) { return max(in[0], 1); }},
      {"std", {cube}, [](Inputs in) { return stddev(in[0], 0); }},
      {"cumsum", {cube}, [](Inputs in) { return cumsum(in[0], 1); }},
      {"matmul", {any({1500, 64}), any({64, 300})}, [](Inputs in) { return matmul(in[0], in[1]); }},
      {"batched matmul",
       {any({30, 60, 40}), any({30, 40, 50})},
       [](Inputs in) { return matmul(in[0], in[1]); }},
      {"linear", {sheet, any({50, 33}), any({50})}, [](Inputs in) { return linear(in[0], in[1], in[2]); }},
      {"softmax", {cube}, [](Inputs in) { return softmax(in[0], 1); }},
      {"log_softmax", {cube}, [](Inputs in) { return log_softmax(in[0]); }},
      {"layer_norm", {cube, any({31}), any({31})}, [](Inputs in) { return layer_norm(in[0], in[1], in[2]); }},
      {"permute",
       {cube},
       [](Inputs in) {
         return permute(in[0], {2, 0, 1});
       }},
      {"concat", {cube, cube}, [](Inputs in) { return concat(in, 1); }},
      {"slice", {cube}, [](Inputs in) { return slice(in[0], 0, 1, 70, 2); }},
      {"embedding",
       {any({3000, 40}), ids({60, 70}, 3000)},
       [](Inputs in) { return embedding(in[0], in[1]); }},
      {"gather", {cube, ids({70, 90, 31}, 50)}, [](Inputs in) { return gather(in[0], 1, in[1]); }},
      {"mean_pool", {sheet, ids({40, 60}, 2)}, [](Inputs in) { return mean_pool(in[0], in[1]); }},
      {"dropout", {cube}, [](Inputs in) { return dropout(in[0], 0.3, 5); }},
      {"cross_entropy",
       {any({2000, 50}), ids({2000}, 50)},
       [](Inputs in) { return cross_entropy(in[0], in[1]); }},
      {"attention",
       {any({9, 70, 48}), any({9, 70, 48}), any({9, 70, 48})},
       [](Inputs in) { return attention(in[0], in[1], in[2], {.heads = 3, .causal = true}); }},
      {"attention, long",
       {any({1, 600, 16}), any({1, 600, 16}), any({1, 600, 16})},
       [](Inputs in) { return attention(in[0], in[1], in[2]); }},
  };
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const auto x = a.values<float>(), y = b.values<float>();
  return a.shape() == b.shape() && std::memcmp(x.data(), y.data(), x.size_bytes()) == 0;
}

}  // namespace

TEST_CASE("results and gradients have the same bits for any number of threads", "[threads]") {
  struct Restore {
    int before = kernels::threads();
    ~Restore() { kernels::set_threads(before); }
  } const restore;
  for (const Large& one : large()) {
    INFO(one.what);
    std::vector<Tensor> first;
    for (const int threads : {1, 2, 3}) {
      kernels::set_threads(threads);
      std::vector<Tensor> xs, results;
      for (const Tensor& x : one.inputs) xs.push_back(with_shape(x, x.shape()));
      std::vector<Tensor> targets;
      for (const Tensor& x : xs)
        if (is_float(x.dtype())) targets.push_back(x);
      Tape tape;
      results.push_back(one.f(xs));
      const Tensor upstream = random(results[0].shape(), 5, f32);
      for (const Tensor& gradient : tape.gradient(results[0], targets, {.upstream = upstream}))
        results.push_back(gradient);
      if (threads == 1) first = results;
      REQUIRE(results.size() == first.size());
      for (std::size_t i = 0; i < results.size(); ++i) CHECK(same_bits(results[i], first[i]));
    }
  }
}
