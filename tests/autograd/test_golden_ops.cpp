// Every op of golden/ops.safetensors: its value and gradients, in f64 and f32.

#include <map>
#include <set>

#include "autograd/files/safetensors.hpp"
#include "autograd/ops/attention.hpp"
#include "autograd/ops/compare.hpp"
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
#include "tests/paths.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

struct Golden {
  std::vector<std::string> inputs;
  Call f;
};

using Unary = Tensor (*)(const Located&);
using Binary = Tensor (*)(const Operand&, const Operand&);
Golden one(Unary f, const char* input = "x") {
  return {{input}, [f](Inputs in) { return f(in[0]); }};
}
Golden two(Binary f) {
  return {{"x", "y"}, [f](Inputs in) { return f(in[0], in[1]); }};
}
Golden product() {
  return {{"x", "y"}, [](Inputs in) { return matmul(in[0], in[1]); }};
}
Golden attended(AttentionOptions options = {}) {
  return {{"q", "k", "v"}, [=](Inputs in) { return attention(in[0], in[1], in[2], options); }};
}
Golden attended_with_mask() {
  return {{"q", "k", "v", "mask"}, [](Inputs in) { return attention(in[0], in[1], in[2], {.mask = in[3]}); }};
}
Golden scored(Tensor (*loss)(const Located&, const Located&)) {
  return {{"x", "target"}, [loss](Inputs in) { return loss(in[0], in[1]); }};
}

const std::map<std::string, Golden>& goldens() {
  static const std::map<std::string, Golden> all{
      {"add_broadcast", two(add)},
      {"sub_broadcast", two(sub)},
      {"mul_broadcast", two(mul)},
      {"mul_scalar", two(mul)},
      {"div_broadcast", two(div)},
      {"pow", two(pow)},
      {"maximum", two(maximum)},
      {"neg", one(neg)},
      {"exp", one(exp)},
      {"tanh", one(tanh)},
      {"sigmoid", one(sigmoid)},
      {"relu", one(relu)},
      {"sin", one(sin)},
      {"cos", one(cos)},
      {"abs", one(abs)},
      {"square", one(square)},
      {"erf", one(erf)},
      {"softplus", one(softplus, "input")},
      {"gelu", one(gelu, "input")},
      {"silu", one(silu, "input")},
      {"log_sigmoid", one(log_sigmoid, "input")},
      {"log", one(log)},
      {"sqrt", one(sqrt)},
      {"rsqrt", one(rsqrt)},
      {"where", {{"cond", "x", "y"}, [](Inputs in) { return where(in[0], in[1], in[2]); }}},
      {"sum_all", one(static_cast<Unary>(sum))},
      {"sum_axis1", {{"x"}, [](Inputs in) { return sum(in[0], 1); }}},
      {"sum_axis_last_keep", {{"x"}, [](Inputs in) { return sum(in[0], -1, true); }}},
      {"mean_axis1", {{"x"}, [](Inputs in) { return mean(in[0], 1); }}},
      {"max_axis_last", {{"x"}, [](Inputs in) { return max(in[0], -1); }}},
      {"logsumexp_last", {{"x"}, [](Inputs in) { return logsumexp(in[0], -1); }}},
      {"softmax_last", {{"x"}, [](Inputs in) { return softmax(in[0]); }}},
      {"softmax_large", {{"x"}, [](Inputs in) { return softmax(in[0]); }}},
      {"log_softmax_last", {{"x"}, [](Inputs in) { return log_softmax(in[0]); }}},
      {"matmul_2d", product()},
      {"matmul_batched", product()},
      {"matmul_broadcast", product()},
      {"matmul_matvec", product()},
      {"transpose_last_two", one(transpose)},
      {"permute_0213",
       {{"x"},
        [](Inputs in) {
          return permute(in[0], {0, 2, 1, 3});
        }}},
      {"reshape",
       {{"x"},
        [](Inputs in) {
          return reshape(in[0], {in[0].size(0) * in[0].size(1), in[0].size(2)});
        }}},
      {"concat_last", {{"x", "y"}, [](Inputs in) { return concat(in, -1); }}},
      {"slice_axis1", {{"x"}, [](Inputs in) { return slice(in[0], 1, 1, 3); }}},
      {"embedding", {{"table", "ids"}, [](Inputs in) { return embedding(in[0], in[1]); }}},
      {"embedding_padding0",
       {{"table", "ids"}, [](Inputs in) { return embedding(in[0], in[1], {.padding = 0}); }}},
      {"linear", {{"x", "weight", "bias"}, [](Inputs in) { return linear(in[0], in[1], in[2]); }}},
      {"layer_norm", {{"x", "weight", "bias"}, [](Inputs in) { return layer_norm(in[0], in[1], in[2]); }}},
      {"mean_pool_masked", {{"x", "mask"}, [](Inputs in) { return mean_pool(in[0], in[1]); }}},
      {"bce_with_logits_mean", scored(binary_cross_entropy_with_logits)},
      {"bce_mean", scored(binary_cross_entropy)},
      {"cross_entropy_mean", scored(cross_entropy)},
      {"mse_mean", scored(mse)},
      {"attention", attended()},
      {"attention_causal", attended({.causal = true})},
      {"attention_key_padding", attended_with_mask()},
      {"attention_large_scores", attended()},
  };
  return all;
}

const TensorFile& file() {
  static const TensorFile all = load_safetensors(golden("ops.safetensors"));
  return all;
}

// A gradient below this is what rounding left of a saturated softmax: compared as if the largest were 1.
constexpr double negligible = 1e-9;

double distance_to(const Tensor& expected, const Tensor& got) {
  double largest = 0;
  for (const double v : numbers(expected)) largest = std::max(largest, std::abs(v));
  return distance(got.to(f64), expected, largest < negligible ? 1 : 0);
}

// Runs an op of the file and compares output and gradients, relative to each tensor's largest number.
void compare_with_file(const std::string& name, const Golden& op, DType dtype, double tolerance,
                       const TapeOptions& options = {}) {
  INFO(name << " in " << name_of(dtype));
  std::vector<Tensor> inputs, targets;
  std::vector<std::string> with_gradient;
  for (const std::string& input : op.inputs) {
    const Tensor& x = file().at(name + "/" + input);
    inputs.push_back(is_float(x.dtype()) ? with_shape(x.to(dtype), x.shape()) : x);
    if (!file().find(name + "/grad." + input)) continue;
    targets.push_back(inputs.back());
    with_gradient.push_back(input);
  }
  Tape tape(options);
  const Tensor y = op.f(inputs);
  CHECK(distance_to(file().at(name + "/out"), y) < tolerance);
  const auto gradients = tape.gradient(y, targets, {.upstream = file().at(name + "/grad.out").to(dtype)});
  CHECK(!gradients.empty());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    INFO("gradient of " << with_gradient[i]);
    CHECK(distance_to(file().at(name + "/grad." + with_gradient[i]), gradients[i]) < tolerance);
  }
}

}  // namespace

TEST_CASE("golden: every op of the file is compared, but for two recurrent ones") {
  std::set<std::string> names;
  for (const auto& [name, tensor] : file().tensors) names.insert(name.substr(0, name.find('/')));
  for (const std::string& name : names) {
    INFO(name);
    CHECK((goldens().contains(name) || name == "rnn_tanh" || name == "lstm"));
  }
}

TEST_CASE("golden: ops in f64") {
  for (const auto& [name, op] : goldens()) compare_with_file(name, op, f64, 1e-10);
}

TEST_CASE("golden: ops in f64, recorded in steps") {
  for (const auto& [name, op] : goldens()) compare_with_file(name, op, f64, 1e-10, {.detail = Detail::steps});
}

TEST_CASE("golden: ops in f32") {
  for (const auto& [name, op] : goldens()) compare_with_file(name, op, f32, 1e-5);
}
