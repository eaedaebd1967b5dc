#include "tests/autograd/op_table.hpp"

#include "autograd/create.hpp"
#include "autograd/ops/attention.hpp"
#include "autograd/ops/compare.hpp"
#include "autograd/ops/dropout.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/index.hpp"
#include "autograd/ops/loss.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/pool.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/softmax.hpp"
#include "autograd/tape.hpp"

namespace pencil::tests {

namespace {

using Cases = std::vector<std::vector<Tensor>>;

// A new random tensor at every call, the same ones in every run.
Tensor any(const Shape& shape) {
  static Rng rng{20240607};
  return randn(shape, rng, f64);
}
Tensor positive(const Shape& shape) {
  static Rng rng{20240608};
  return uniform(shape, 0.3, 2, rng, f64);
}
Tensor whole(const Nested& numbers) { return tensor(numbers, i32); }

Cases unary(Tensor (*make)(const Shape&) = any) {
  return {{make({2, 3})}, {make({})}, {make({0})}, {make({2, 0, 3})}, {make({1, 5})}};
}
Cases binary(Tensor (*left)(const Shape&) = any) {
  return {{left({2, 3}), any({2, 3})},    {left({2, 1, 4}), any({3, 1})},
          {left({}), any({2, 3})},        {left({2, 3}), any({})},
          {left({4}), any({2, 3, 4})},    {left({0}), any({1})},
          {left({2, 0}), any({3, 1, 1})}, {left({}), any({})}};
}

using Unary = Tensor (*)(const Located&);
using Binary = Tensor (*)(const Operand&, const Operand&);
Call of(Unary f) {
  return [f](Inputs in) { return f(in[0]); };
}
Call of(Binary f) {
  return [f](Inputs in) { return f(in[0], in[1]); };
}

// The gradient of softmax as a function of its own, reached as a recorded sweep reaches it.
Tensor softmax_gradient(Inputs in) {
  Tape& tape = *Tape::current();
  const Tensor y = softmax(in[0]);
  return tape.gradient(y, {in[0]}, {.upstream = in[1], .record = true})[0];
}
Tensor spread_rows(Inputs in) {
  Tape& tape = *Tape::current();
  const Tensor x = zeros({2, 3, 4}, f64);
  const Tensor y = mean_pool(x, in[1]);
  return tape.gradient(y, {x}, {.upstream = in[0], .record = true})[0];
}

void add_elementwise(std::vector<OpRow>& rows) {
  const std::pair<const char*, Unary> anywhere[] = {
      {"neg", neg},           {"square", square},           {"exp", exp},   {"sin", sin},   {"cos", cos},
      {"tanh", tanh},         {"sigmoid", sigmoid},         {"relu", relu}, {"abs", abs},   {"erf", erf},
      {"softplus", softplus}, {"log_sigmoid", log_sigmoid}, {"gelu", gelu}, {"silu", silu},
  };
  for (const auto& [word, f] : anywhere) rows.push_back({word, of(f), unary()});
  const std::pair<const char*, Unary> above_zero[] = {
      {"log", log}, {"sqrt", sqrt}, {"rsqrt", rsqrt}, {"safe_sqrt", safe_sqrt}, {"safe_log", safe_log}};
  for (const auto& [word, f] : above_zero) rows.push_back({word, of(f), unary(positive)});
  const std::pair<const char*, Binary> of_two[] = {
      {"add", add}, {"sub", sub}, {"mul", mul}, {"maximum", maximum}, {"minimum", minimum}};
  for (const auto& [word, f] : of_two) rows.push_back({word, of(f), binary()});
  rows.push_back({"div", [](Inputs in) { return div(in[1], in[0]); }, binary(positive)});
  rows.push_back({"pow", of(pow), binary(positive)});
  rows.push_back({"clamp", [](Inputs in) { return clamp(in[0], -0.5, 0.75); }, unary()});
  const std::pair<const char*, Binary> comparisons[] = {
      {"equal", equal},           {"not_equal", not_equal}, {"less", less},
      {"less_equal", less_equal}, {"greater", greater},     {"greater_equal", greater_equal}};
  for (const auto& [word, f] : comparisons) rows.push_back({word, of(f), binary(), true});
  rows.push_back({"where",
                  [](Inputs in) { return where(in[0], in[1], in[2]); },
                  {{whole({{1, 0, 1}, {0, 0, 1}}), any({2, 3}), any({2, 3})},
                   {whole({{1}, {0}}), any({3}), any({})},
                   {whole(1), any({}), any({2})},
                   {whole({0, 1}), any({0, 2}), any({1, 1})}}});
  rows.push_back({"masked_fill",
                  [](Inputs in) { return masked_fill(in[0], in[1], -3); },
                  {{any({2, 3}), whole({{1, 0, 1}, {0, 0, 1}})},
                   {any({2, 3}), whole({0, 1, 0})},
                   {any({}), whole(1)},
                   {any({0, 3}), whole({0, 1, 0})}}});
}

void add_reductions(std::vector<OpRow>& rows) {
  using Full = Tensor (*)(const Located&);
  using Along = Tensor (*)(const Located&, const Axes&, bool);
  struct Reduction {
    const char* word;
    Full full;
    Along along;
  };
  const Reduction all[] = {
      {"sum", sum, sum}, {"mean", mean, mean}, {"max", max, max}, {"min", min, min}, {"norm", norm, norm}};
  const Cases cube{{any({2, 3, 4})}, {any({2, 0, 4})}};
  const Cases full_cube{{any({2, 3, 4})}};
  for (const Reduction& reduction : all) {
    const char* word = reduction.word;
    const Along along = reduction.along;
    const bool of_nothing = along != static_cast<Along>(max) && along != static_cast<Along>(min);
    const Cases& some = of_nothing ? cube : full_cube;
    rows.push_back({word, of(reduction.full), {{any({2, 3})}, {any({})}, {any({1, 1})}}});
    rows.push_back({word, [along](Inputs in) { return along(in[0], 1, false); }, some});
    rows.push_back({word, [along](Inputs in) { return along(in[0], -1, true); }, cube});
    rows.push_back({word, [along](Inputs in) { return along(in[0], {0, 2}, false); }, full_cube});
    rows.push_back({word, [along](Inputs in) { return along(in[0], {-1, 0}, true); }, full_cube});
  }
  for (const double correction : {0., 1., 1.5}) {
    rows.push_back({"var", [=](Inputs in) { return var(in[0], {0, -1}, true, correction); }, full_cube});
    rows.push_back({"std", [=](Inputs in) { return stddev(in[0], 1, false, correction); }, full_cube});
  }
  rows.push_back({"var", of(static_cast<Full>(var)), {{any({2, 3})}}});
  rows.push_back({"std", of(static_cast<Full>(stddev)), {{any({2, 3})}}});
  for (const int axis : {0, 1, -1}) {
    rows.push_back({"logsumexp", [=](Inputs in) { return logsumexp(in[0], axis, axis == 1); }, full_cube});
    rows.push_back({"cumsum", [=](Inputs in) { return cumsum(in[0], axis); }, cube});
    rows.push_back({"argmax", [=](Inputs in) { return argmax(in[0], axis); }, full_cube, true});
    rows.push_back({"softmax", [=](Inputs in) { return softmax(in[0], axis); }, cube});
    rows.push_back({"log_softmax", [=](Inputs in) { return log_softmax(in[0], axis); }, cube});
  }
  rows.push_back({"masked_softmax",
                  [](Inputs in) { return masked_softmax(in[0], in[1]); },
                  {{any({3, 4}), whole({{1, 0, 1, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}})},
                   {any({2, 3, 4}), whole({1, 1, 0, 1})},
                   {any({0, 4}), whole({1, 1, 0, 1})}}});
  rows.push_back({"softmax_gradient", softmax_gradient, {{any({2, 3, 4}), any({2, 3, 4})}}});
  rows.push_back({"layer_norm",
                  [](Inputs in) { return layer_norm(in[0], in[1], in[2]); },
                  {{any({2, 3, 4}), any({4}), any({4})},
                   {any({5}), any({5}), any({5})},
                   {any({0, 4}), any({4}), any({4})}}});
}

void add_shapes(std::vector<OpRow>& rows) {
  rows.push_back({"reshape",
                  [](Inputs in) {
                    return reshape(in[0], {2, -1});
                  },
                  {{any({4, 3})}, {any({2})}, {any({2, 0})}}});
  rows.push_back({"reshape", [](Inputs in) { return reshape(in[0], {}); }, {{any({1, 1})}, {any({})}}});
  rows.push_back({"transpose", of(transpose), {{any({2, 3})}, {any({2, 3, 4})}, {any({2, 0})}}});
  rows.push_back({"permute",
                  [](Inputs in) {
                    return permute(in[0], {2, 0, -2});
                  },
                  {{any({2, 3, 4})}, {any({0, 3, 4})}}});
  rows.push_back({"squeeze",
                  of(static_cast<Unary>(squeeze)),
                  {{any({1, 3, 1})}, {any({1, 1})}, {any({})}, {any({1, 0})}}});
  rows.push_back({"squeeze", [](Inputs in) { return squeeze(in[0], -2); }, {{any({2, 1, 3})}}});
  rows.push_back({"unsqueeze", [](Inputs in) { return unsqueeze(in[0], -1); }, {{any({2, 3})}, {any({})}}});
  rows.push_back({"broadcast_to",
                  [](Inputs in) {
                    return broadcast_to(in[0], {2, 3, 4});
                  },
                  {{any({3, 1})}, {any({})}, {any({2, 1, 1})}}});
  rows.push_back({"sum_to",
                  [](Inputs in) {
                    return sum_to(in[0], {3, 1});
                  },
                  {{any({2, 3, 4})}, {any({3, 4})}, {any({0, 3, 1})}}});
  for (const int axis : {0, 1, -1}) {
    rows.push_back({"concat",
                    [=](Inputs in) { return concat(in, axis); },
                    {{any({2, 3, 2}), any({2, 3, 2}), any({2, 3, 2})}, {any({2, 0})}}});
    rows.push_back({"stack",
                    [=](Inputs in) { return stack(in, axis); },
                    {{any({2, 3}), any({2, 3})}, {any({2, 0}), any({2, 0})}}});
  }
  rows.push_back(
      {"concat", [](Inputs in) { return concat(in, 1); }, {{any({2, 3}), any({2, 0}), any({2, 1})}}});
  rows.push_back({"stack", [](Inputs in) { return stack(in); }, {{any({}), any({})}}});
  rows.push_back({"slice",
                  [](Inputs in) { return slice(in[0], 1, 1, -1); },
                  {{any({2, 4})}, {any({2, 4, 3})}, {any({2, 2})}}});
  rows.push_back(
      {"slice", [](Inputs in) { return slice(in[0], -1, 0, 5, 2); }, {{any({2, 5})}, {any({0, 5})}}});
  rows.push_back({"unslice",
                  [](Inputs in) { return unslice(in[0], 1, 6, 1, 2); },
                  {{any({2, 3})}, {any({2, 0})}, {any({2, 2, 2})}}});
  rows.push_back({"row", [](Inputs in) { return in[0][-2]; }, {{any({3, 2})}, {any({2})}, {any({2, 0, 3})}}});
  rows.push_back({"detach", [](Inputs in) { return in[0].detach(); }, {{any({2, 3})}, {any({})}}, true});
  rows.push_back({"cast",
                  [](Inputs in) {
                    const Tensor narrow = in[0].to(f32);
                    return narrow.to(f64);
                  },
                  {{whole({{1, 2}, {3, 4}})}}});
  rows.push_back({"truncate", [](Inputs in) { return in[0].to(i32); }, {{any({2, 3})}, {any({0})}}, true});
}

void add_indexing(std::vector<OpRow>& rows) {
  const Tensor ids = whole({{0, 2, 2, 1}, {1, 1, 0, 2}});
  rows.push_back({"gather",
                  [](Inputs in) { return gather(in[0], 0, in[1]); },
                  {{any({3, 4}), ids}, {any({3, 0}), zeros({2, 0}, i32)}}});
  rows.push_back({"gather",
                  [](Inputs in) { return gather(in[0], -1, in[1]); },
                  {{any({2, 3}), ids}, {any({2, 3}), zeros({2, 0}, i32)}}});
  rows.push_back(
      {"scatter_add", [](Inputs in) { return scatter_add(in[0], 1, in[1], 3); }, {{any({2, 4}), ids}}});
  rows.push_back({"embedding",
                  [](Inputs in) { return embedding(in[0], in[1]); },
                  {{any({3, 5}), ids}, {any({3, 5}), whole(1)}, {any({3, 5}), zeros({0, 2}, i32)}}});
  rows.push_back({"scatter_rows",
                  [](Inputs in) { return scatter_rows(in[0], in[1], 4); },
                  {{any({2, 4, 3}), ids}, {any({0, 3}), zeros({0}, i32)}}});
  rows.push_back({"scatter_rows",
                  [](Inputs in) { return scatter_rows(in[0], in[1], 4, {.padding = 2}); },
                  {{any({2, 4, 3}), ids}}});
  rows.push_back({"one_hot", [](Inputs in) { return one_hot(in[0], 3, f64); }, {{ids}, {whole(2)}}, true});
}

void add_products(std::vector<OpRow>& rows) {
  rows.push_back({"matmul",
                  [](Inputs in) { return matmul(in[0], in[1]); },
                  {{any({2, 3}), any({3, 4})},
                   {any({3}), any({3})},
                   {any({3}), any({3, 4})},
                   {any({2, 3}), any({3})},
                   {any({3}), any({2, 3, 4})},
                   {any({5, 2, 3}), any({3})},
                   {any({5, 2, 3}), any({3, 4})},
                   {any({2, 1, 2, 3}), any({5, 3, 4})},
                   {any({2, 3}), any({5, 3, 4})},
                   {any({1, 1}), any({1, 1})},
                   {any({2, 0}), any({0, 3})},
                   {any({0, 3}), any({3, 4})},
                   {any({2, 0, 3}), any({3, 4})},
                   {any({0, 2, 3}), any({0, 3, 4})}}});
  for (const bool left : {false, true})
    for (const bool right : {false, true}) {
      const MatmulOptions options{.transpose_left = left, .transpose_right = right};
      const Shape a = left ? Shape{3, 2} : Shape{2, 3}, b = right ? Shape{4, 3} : Shape{3, 4};
      rows.push_back({"matmul",
                      [=](Inputs in) { return matmul(in[0], in[1], options); },
                      {{any(a), any(b)},
                       {any(a.inserted(0, 5)), any(b)},
                       {any(a), any(b.inserted(0, 5))},
                       {any(a.inserted(0, 1).inserted(0, 2)), any(b.inserted(0, 5))}}});
    }
  rows.push_back({"linear",
                  [](Inputs in) { return linear(in[0], in[1], in[2]); },
                  {{any({2, 3, 4}), any({5, 4}), any({5})},
                   {any({4}), any({5, 4}), any({5})},
                   {any({0, 4}), any({5, 4}), any({5})},
                   {any({2, 0}), any({3, 0}), any({3})}}});
  rows.push_back({"linear",
                  [](Inputs in) { return linear(in[0], in[1]); },
                  {{any({2, 3, 4}), any({5, 4})}, {any({4}), any({1, 4})}}});
}

void add_layers(std::vector<OpRow>& rows) {
  const Tensor some = whole({{1, 0, 1}, {0, 0, 0}});
  rows.push_back(
      {"mean_pool", [](Inputs in) { return mean_pool(in[0]); }, {{any({2, 3, 4})}, {any({2, 0, 4})}}});
  rows.push_back({"mean_pool", [](Inputs in) { return mean_pool(in[0], in[1]); }, {{any({2, 3, 4}), some}}});
  rows.push_back({"spread_rows", spread_rows, {{any({2, 4}), some}}});
  rows.push_back(
      {"max_pool", [](Inputs in) { return max_pool(in[0]); }, {{any({2, 3, 4})}, {any({2, 0, 4})}}});
  rows.push_back({"max_pool", [](Inputs in) { return max_pool(in[0], in[1]); }, {{any({2, 3, 4}), some}}});
  for (const double rate : {0., 0.4, 1.})
    rows.push_back({"dropout",
                    [=](Inputs in) { return dropout(in[0], rate, 77); },
                    {{any({5, 6})}, {any({})}, {any({0, 2})}}});
  const Tensor ticks = whole({1, 0, 0, 1});
  rows.push_back({"binary_cross_entropy",
                  [](Inputs in) { return binary_cross_entropy(in[0], in[1]); },
                  {{tensor({0.2, 0.3, 0.8, 0.9}, f64), ticks},
                   {tensor({{0.2}, {0.3}, {0.8}, {0.9}}, f64), ticks},
                   {zeros({0}, f64), zeros({0}, i32)}}});
  rows.push_back(
      {"binary_cross_entropy_with_logits",
       [](Inputs in) { return binary_cross_entropy_with_logits(in[0], in[1]); },
       {{any({4}), ticks}, {any({4, 1}), ticks}, {any({}), whole(1)}, {zeros({0}, f64), zeros({0}, i32)}}});
  rows.push_back({"cross_entropy",
                  [](Inputs in) { return cross_entropy(in[0], in[1]); },
                  {{any({4, 3}), whole({2, 0, 0, 1})}, {any({0, 3}), zeros({0}, i32)}}});
  rows.push_back({"mse",
                  [](Inputs in) { return mse(in[0], in[1]); },
                  {{any({2, 3}), any({2, 3})},
                   {any({3, 1}), any({3})},
                   {any({3}), any({3, 1})},
                   {any({4}), ticks},
                   {any({0}), any({0})}}});
}

void add_attention(std::vector<OpRow>& rows) {
  const auto inputs = [](int batch, int queries, int keys, int heads, int width, int value_width) {
    return std::vector<Tensor>{any({batch, queries, heads * width}), any({batch, keys, heads * width}),
                               any({batch, keys, heads * value_width})};
  };
  const auto with = [](AttentionOptions options) -> Call {
    return [=](Inputs in) { return attention(in[0], in[1], in[2], options); };
  };
  const auto weights = [](AttentionOptions options) -> Call {
    return [=](Inputs in) { return attention_weights(in[0], in[1], options); };
  };
  const Tensor by_key = whole({{{1, 1, 0, 1}}, {{0, 1, 1, 0}}});
  const Tensor by_row = whole({{1, 0, 1, 1}, {0, 0, 0, 0}, {1, 1, 1, 1}});
  const Tensor by_head = whole({{{{1, 0, 1, 1}}, {{0, 1, 1, 1}}}});
  const Cases usual{inputs(2, 3, 4, 2, 3, 2)};
  rows.push_back({"attention", with({}), {inputs(2, 3, 4, 1, 3, 2), inputs(1, 1, 1, 1, 1, 1)}});
  rows.push_back({"attention",
                  [](Inputs in) { return attention(in[0], in[1], in[2]); },
                  {{any({3, 2}), any({4, 2}), any({4, 5})}}});
  rows.push_back({"attention",
                  with({.heads = 2}),
                  {inputs(2, 3, 4, 2, 3, 2), inputs(2, 0, 4, 2, 3, 2), inputs(0, 3, 4, 2, 3, 2),
                   inputs(2, 3, 0, 2, 3, 2)}});
  rows.push_back({"attention",
                  [](Inputs in) { return attention(in[0], in[1], in[2], {.heads = 2, .causal = true}); },
                  {{any({3, 4}), any({3, 4}), any({3, 2})}}});
  for (const Tensor& mask : {by_key, by_row, by_head})
    for (const bool causal : {false, true}) {
      const AttentionOptions options{.heads = 2, .mask = mask, .causal = causal, .scale = 0.7};
      rows.push_back({"attention", with(options), usual});
      rows.push_back({"attention_weights", weights(options), {{usual[0][0], usual[0][1]}}});
    }
  rows.push_back(
      {"attention_weights",
       weights({}),
       {{any({2, 3, 3}), any({2, 4, 3})}, {any({3, 2}), any({4, 2})}, {any({0, 3, 2}), any({0, 4, 2})}}});
}

}  // namespace

const std::vector<OpRow>& op_table() {
  static const std::vector<OpRow> rows = [] {
    std::vector<OpRow> all;
    add_elementwise(all);
    add_reductions(all);
    add_shapes(all);
    add_indexing(all);
    add_products(all);
    add_layers(all);
    add_attention(all);
    return all;
  }();
  return rows;
}

}  // namespace pencil::tests
