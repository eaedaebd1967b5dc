#include "tests/bench/torch.hpp"

#include <torch/torch.h>

#include <cmath>

extern "C" [[gnu::weak]] void openblas_set_num_threads(int);

namespace pencil::bench {
namespace {

constexpr std::int64_t vocabulary = 10000, width = 32, heads = 2, key_width = 32, hidden = 20;
constexpr double dropout_rate = 0.1;

torch::Tensor leaf(const std::vector<float>& numbers, at::IntArrayRef shape) {
  return torch::tensor(numbers).reshape(shape).clone().requires_grad_(true);
}

}  // namespace

struct TorchTwin::Model {
  torch::Tensor tokens, labels, table;
  struct Layer {
    torch::Tensor w, b;
    torch::Tensor operator()(const torch::Tensor& x) const { return torch::linear(x, w, b); }
  };
  Layer query, key, value, output, dense1, dense2;
  std::unique_ptr<torch::optim::Adam> adam;

  torch::Tensor logits(const torch::Tensor& ids, bool train) const {
    const torch::Tensor x = torch::embedding(table, ids);
    const auto split = [&](const torch::Tensor& y) {
      return y.view({y.size(0), y.size(1), heads, key_width}).transpose(1, 2);
    };
    const torch::Tensor q = split(query(x)), k = split(key(x)), v = split(value(x));
#if TORCH_VERSION_MAJOR >= 2
    const torch::Tensor mixed = at::scaled_dot_product_attention(q, k, v);
#else
    const torch::Tensor scores =
        torch::matmul(q, k.transpose(-2, -1)) / std::sqrt(static_cast<double>(key_width));
    const torch::Tensor mixed = torch::matmul(torch::softmax(scores, -1), v);
#endif
    const torch::Tensor blended =
        output(mixed.transpose(1, 2).reshape({x.size(0), x.size(1), heads * key_width}));
    const torch::Tensor summary = torch::dropout(blended.mean(1), dropout_rate, train);
    return dense2(torch::dropout(torch::relu(dense1(summary)), dropout_rate, train)).squeeze(-1);
  }
};

TorchTwin::TorchTwin(const std::vector<std::vector<float>>& weights, const std::vector<std::int64_t>& tokens,
                     const std::vector<float>& labels, std::int64_t batch, std::int64_t length)
    : model_(std::make_unique<Model>()) {
  Model& m = *model_;
  m.tokens = torch::tensor(tokens).reshape({batch, length});
  m.labels = torch::tensor(labels);
  constexpr std::int64_t wide = heads * key_width;
  m.table = leaf(weights.at(0), {vocabulary, width});
  m.query = {leaf(weights.at(1), {wide, width}), leaf(weights.at(2), {wide})};
  m.key = {leaf(weights.at(3), {wide, width}), leaf(weights.at(4), {wide})};
  m.value = {leaf(weights.at(5), {wide, width}), leaf(weights.at(6), {wide})};
  m.output = {leaf(weights.at(7), {width, wide}), leaf(weights.at(8), {width})};
  m.dense1 = {leaf(weights.at(9), {hidden, width}), leaf(weights.at(10), {hidden})};
  m.dense2 = {leaf(weights.at(11), {1, hidden}), leaf(weights.at(12), {1})};
  std::vector<torch::Tensor> all{m.table};
  for (const Model::Layer* layer : {&m.query, &m.key, &m.value, &m.output, &m.dense1, &m.dense2})
    all.insert(all.end(), {layer->w, layer->b});
  m.adam = std::make_unique<torch::optim::Adam>(all, torch::optim::AdamOptions(1e-3).eps(1e-7));
}

TorchTwin::~TorchTwin() = default;
TorchTwin::TorchTwin(TorchTwin&&) noexcept = default;

void TorchTwin::set_threads(TorchThreads threads) {
  at::set_num_threads(threads.ops);
  if (openblas_set_num_threads) openblas_set_num_threads(threads.blas);
}

void TorchTwin::step() {
  Model& m = *model_;
  m.adam->zero_grad();
  torch::binary_cross_entropy_with_logits(m.logits(m.tokens, true), m.labels).backward();
  m.adam->step();
}

std::vector<float> TorchTwin::judge(std::int64_t reviews) {
  const torch::NoGradGuard guard;
  const torch::Tensor logits = model_->logits(model_->tokens.slice(0, 0, reviews), false).contiguous();
  return {logits.data_ptr<float>(), logits.data_ptr<float>() + logits.numel()};
}

}  // namespace pencil::bench
