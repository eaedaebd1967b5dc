#include "tests/inspect/random_graph.hpp"

#include <algorithm>
#include <cmath>

#include "autograd/create.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/tape.hpp"
#include "tests/autograd/op_table.hpp"

namespace pencil::tests {

namespace {

struct Made {
  Tensor tensor;
  bool read = false;
};

// Off the tape.
Tensor converted(const Tensor& x, DType dtype) {
  if (x.dtype() == i32) return x;
  const Tape aside;
  return copy(x.to(dtype));
}

bool tame(const Tensor& x) {
  const std::vector<double> numbers = x.to_vector();
  return std::ranges::all_of(numbers, [](double v) { return std::isfinite(v) && std::abs(v) < 100; });
}

// Whether a call works out on these inputs and its gradients are tame; tried on a tape of its own.
bool works(const OpRow& row, const std::vector<Tensor>& inputs) {
  Tape tape;
  try {
    const Tensor y = row.f(inputs);
    if (!tame(y)) return false;
    if (!is_float(y.dtype())) return true;
    const Tensor upstream = ones(y.shape(), y.dtype());
    return std::ranges::all_of(inputs, [&](const Tensor& x) {
      return !is_float(x.dtype()) || tape.step_of(x) < 0 ||
             tame(tape.gradient(y, {x}, {.upstream = upstream})[0]);
    });
  } catch (const Error&) {  // a chance beyond 0 to 1
    return false;
  }
}

// Rows that need a tape around them, or that convert between f32 and f64.
bool apart(const OpRow& row) {
  return row.word == "softmax_gradient" || row.word == "spread_rows" || row.word == "cast" ||
         row.word == "one_hot";
}

}  // namespace

RandomGraph random_graph(std::uint64_t seed, int calls, DType dtype) {
  Rng rng(seed);
  RandomGraph graph;
  std::vector<Made> made;
  const auto draw = [&](std::size_t n) { return static_cast<std::size_t>(rng.below(n)); };
  const auto fresh = [&](const Tensor& x) {
    const Tensor y = x.dtype() == i32 ? x : parameter(x, fmt::format("p{}", graph.parameters.size()));
    if (y.is_parameter()) graph.parameters.push_back(y);
    return y;
  };
  for (int call = 0; call < calls; ++call) {
    const OpRow& row = op_table()[draw(op_table().size())];
    if (apart(row)) continue;
    const std::vector<Tensor>& usual = row.cases[draw(row.cases.size())];
    std::vector<Tensor> inputs;
    std::vector<std::size_t> from(usual.size(), made.size());
    for (std::size_t i = 0; i < usual.size(); ++i) {
      Tensor x = converted(usual[i], dtype);
      for (std::size_t tries = 0; tries < 2 * made.size() && rng.uniform() < 0.9; ++tries) {
        const std::size_t at = draw(made.size());
        if (made[at].tensor.shape() != x.shape() || made[at].tensor.dtype() != x.dtype() || x.dtype() == i32)
          continue;
        x = made[at].tensor;
        from[i] = at;
        break;
      }
      inputs.push_back(x);
    }
    if (!works(row, inputs)) {
      from.assign(usual.size(), made.size());
      for (std::size_t i = 0; i < usual.size(); ++i) inputs[i] = converted(usual[i], dtype);
    }
    for (std::size_t i = 0; i < usual.size(); ++i) {
      if (from[i] < made.size()) {
        made[from[i]].read = true;
        continue;
      }
      inputs[i] = fresh(inputs[i]);
      if (inputs[i].is_parameter()) made.push_back({inputs[i], true});
    }
    made.push_back({row.f(inputs)});
  }
  const Tensor w = parameter(full({}, 0.5, dtype), "w");
  graph.parameters.push_back(w);
  graph.loss = square(w);
  for (const Made& each : made) {
    if (each.read || !is_float(each.tensor.dtype()) || each.tensor.dtype() != dtype) continue;
    const Tensor weights = randn(each.tensor.shape(), rng, dtype);
    const Tensor weighted = each.tensor * weights;
    const Tensor total = sum(weighted);
    graph.loss = graph.loss + total;
  }
  return graph;
}

}  // namespace pencil::tests
