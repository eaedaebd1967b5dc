#include "autograd/ops/attention.hpp"

#include "autograd/ops/compare.hpp"
#include "autograd/ops/index.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/softmax.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

struct Result {
  Tensor y;
  std::vector<Tensor> gradients;
};

Result attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
              Detail detail = Detail::fast, const Tensor& upstream = Tensor()) {
  Tape tape{{.detail = detail}};
  const Tensor y = attention(q, k, v, options);
  const Tensor dy = upstream.defined() ? upstream : random(y.shape(), 50).to(y.dtype());
  return {y, tape.gradient(y, {q, k, v}, {.upstream = dy})};
}

bool all_finite(const Result& r) {
  return finite(r.y) && finite(r.gradients[0]) && finite(r.gradients[1]) && finite(r.gradients[2]);
}

const auto details = {Detail::fast, Detail::steps};

}  // namespace

TEST_CASE("a fully masked query row poisons no gradient") {
  const Tensor q = random({2, 4, 1}, 1), k = random({2, 4, 1}, 2), v = random({2, 4, 1}, 3);
  // keys 2 and 3 of sample 1 are padding, and rows see themselves and their neighbours: its row 3 sees
  // nothing
  const Tensor mask = tensor({{{1, 1, 0, 0}, {1, 1, 1, 0}, {0, 1, 1, 1}, {0, 0, 1, 1}},
                              {{1, 1, 0, 0}, {1, 1, 0, 0}, {0, 1, 0, 0}, {0, 0, 0, 0}}},
                             i32);
  for (const Detail detail : details) {
    const Result r = attend(q, k, v, {.mask = mask}, detail);
    CHECK(all_finite(r));
    CHECK(r.y.values<double>()[7] == 0);
    CHECK(r.gradients[0].values<double>()[7] == 0);
  }
}

TEST_CASE("a fully masked row leaves the bits of the other rows alone") {
  const Tensor q = random({1, 3, 4}, 1), k = random({1, 3, 4}, 2), v = random({1, 3, 4}, 3);
  const Tensor all = ones({3, 3}, i32), two = tensor({{1, 1, 1}, {0, 0, 0}, {1, 1, 1}}, i32);
  const Tensor whole = attention(q, k, v, {.heads = 2, .mask = all});
  const Tensor holed = attention(q, k, v, {.heads = 2, .mask = two});
  CHECK(same_numbers(holed[0][0], whole[0][0]));
  CHECK(same_numbers(holed[0][2], whole[0][2]));
  CHECK(all_zero(holed[0][1]));
}

TEST_CASE("a causal and a key mask together that leave a row without a key give a zero row") {
  const Tensor q = random({3, 2}, 1), k = random({3, 2}, 2), v = random({3, 2}, 3);
  for (const Detail detail : details) {
    const Result r = attend(q, k, v, {.mask = tensor({{0, 1, 1}}, i32), .causal = true}, detail);
    CHECK(all_finite(r));
    CHECK(all_zero(r.y[0]));
    CHECK(same_numbers(r.y[1], v[1]));  // row 1 sees key 1 only
  }
  const Tensor weights = attention_weights(q, k, {.mask = tensor({{0, 1, 1}}, i32), .causal = true});
  CHECK(all_zero(weights[0][0][0]));
  CHECK(sum(weights[0][0][1]).item() == Approx(1));
  CHECK(sum(weights[0][0][2]).item() == Approx(1));
}

TEST_CASE("asking for the weights changes no output, and a masked head contributes 0") {
  const Tensor q = random({1, 5, 3}, 1), k = random({1, 5, 3}, 2), v = random({1, 5, 3}, 3);
  const Tensor mask = tensor({{{{1, 1, 1, 1, 1}}, {{1, 0, 1, 0, 1}}, {{0, 0, 0, 0, 0}}}}, i32);  // by head
  const AttentionOptions options{.heads = 3, .mask = mask};
  const Tensor y = attention(q, k, v, options);
  const Tensor weights = attention_weights(q, k, options);
  REQUIRE(weights.shape() == Shape{1, 3, 5, 5});
  CHECK(finite(weights));
  const Tensor v_by_head = permute(reshape(v, {1, 5, 3, 1}), {0, 2, 1, 3});
  const Tensor mix = permute(matmul(weights, v_by_head), {0, 2, 1, 3});
  CHECK(distance(reshape(mix, {1, 5, 3}), y) < 1e-14);
  CHECK(all_zero(slice(y, 2, 2, 3)));
  CHECK(all_zero(weights[0][2]));
}

TEST_CASE("the causal mask holds with the weights asked for") {
  const Tensor x = random({2, 4, 6}, 1);
  const Tensor weights = attention_weights(x, x, {.heads = 2, .causal = true});
  for (std::int64_t row = 0; row < 4; ++row)
    for (std::int64_t key = 0; key < 4; ++key)
      for (std::int64_t head = 0; head < 2; ++head) {
        const double w = weights[1][head][row][key].item();
        CHECK((key > row ? w == 0 : w > 0));
      }
}

TEST_CASE("the value of a masked key cannot leak, however large") {
  const Tensor q = random({1, 2, 2}, 1, f32), k = random({1, 3, 2}, 2, f32);
  Tensor v = random({1, 3, 2}, 3, f32);
  const Tensor calm = with_shape(v, v.shape());
  const Tensor mask = tensor({{1, 0, 1}}, i32);
  for (const double value : {1e30, -1e30}) {
    const Tensor huge = masked_fill(calm, tensor({{0}, {1}, {0}}, i32), value);
    for (const Detail detail : details) {
      const Result r = attend(q, k, huge, {.mask = mask}, detail),
                   quiet = attend(q, k, calm, {.mask = mask}, detail);
      CHECK(same_numbers(r.y, quiet.y));
      for (const Tensor& gradient : r.gradients) CHECK(all_zero(gradient[0]) == false);
      CHECK(all_zero(r.gradients[1][0][1]));
      CHECK(all_zero(r.gradients[2][0][1]));
      CHECK(same_numbers(r.gradients[0], quiet.gradients[0]));
    }
  }
  // The fused form keeps out even NaN and infinity, in q·k as in v (and then adds in another order).
  for (const double value : {no_number, infinity, -infinity}) {
    const Tensor row = tensor({{0}, {1}, {0}}, i32);
    const Result r = attend(q, masked_fill(k, row, value), masked_fill(calm, row, value), {.mask = mask});
    CHECK(distance(r.y, attention(q, k, calm, {.mask = mask})) < 1e-6);
    CHECK(all_finite(r));
  }
}

TEST_CASE("scores in the thousands give no NaN") {
  const Tensor q = random({2, 3, 4}, 1) * 100, k = random({2, 3, 4}, 2) * 100, v = random({2, 3, 4}, 3);
  for (const Detail detail : details) CHECK(all_finite(attend(q, k, v, {.heads = 2}, detail)));
}

TEST_CASE("no keys at all give zeros") {
  const Result r = attend(random({2, 3, 4}, 1), zeros({2, 0, 4}, f64), zeros({2, 0, 6}, f64), {.heads = 2});
  CHECK(r.y.shape() == Shape{2, 3, 6});
  CHECK(all_zero(r.y));
  CHECK(all_zero(r.gradients[0]));
}

TEST_CASE("attention in steps is recorded as match, scale, fractions, mix and glue") {
  const Tensor x = random({2, 3, 4}, 1);
  Tape tape{{.detail = Detail::steps}};
  const Tensor y = attention(x, x, x, {.heads = 2});
  std::vector<std::string> roles;
  for (int i = 0; i < tape.size(); ++i)
    if (const std::string role(tape.step(i).role()); !role.empty() && (roles.empty() || roles.back() != role))
      roles.push_back(role);
  CHECK(roles == std::vector<std::string>{"scores", "scale", "weights", "mix", "glue"});
  CHECK(y.shape() == x.shape());
}

TEST_CASE("an op that attends says its weights, whatever heads and mask") {
  const Tensor q = random({2, 3, 4}, 60), k = random({2, 5, 4}, 61), v = random({2, 5, 6}, 62);
  const Tensor mask = tensor({{1, 1, 0, 1, 0}}).to(i32);
  const auto said = [](const Step& step) {
    std::vector<Tensor> inputs;
    for (int i = 0; i < step.inputs(); ++i) inputs.push_back(step.input(i));
    return step.op().parts().weights(inputs, step.attributes());
  };
  for (const AttentionOptions& options :
       {AttentionOptions{.heads = 2, .mask = {}}, AttentionOptions{.mask = mask},
        AttentionOptions{.heads = 2, .mask = mask, .causal = true}}) {
    const Tensor weights = attention_weights(q, k, options);
    Tape tape;
    const Tensor y = attention(q, k, v, options), again = attention_weights(q, k, options);
    CHECK(said(tape.step(tape.step_of(y))).to_vector() == weights.to_vector());
    CHECK(said(tape.step(tape.step_of(again))).to_vector() == weights.to_vector());
  }
}

TEST_CASE("two heads are two attentions side by side") {
  const Tensor q = random({1, 3, 4}, 1), k = random({1, 5, 4}, 2), v = random({1, 5, 6}, 3);
  const auto half = [](const Tensor& x, std::size_t i) {
    return split(x, {x.size(-1) / 2, x.size(-1) / 2}, -1)[i];
  };
  const Tensor left = attention(half(q, 0), half(k, 0), half(v, 0));
  const Tensor right = attention(half(q, 1), half(k, 1), half(v, 1));
  CHECK(distance(attention(q, k, v, {.heads = 2}), concat({left, right}, -1)) < 1e-14);
}

TEST_CASE("attention says what does not fit") {
  const Tensor q = zeros({2, 3, 4}), k = zeros({2, 5, 4}), v = zeros({2, 5, 6});
  CHECK_THROWS_WITH(attention(q, zeros({2, 5, 3}), v), Says("[attention] q is (2, 3, 4) and k (2, 5, 3)"));
  CHECK_THROWS_WITH(attention(q, k, v, {.heads = 3}), Says("a multiple of the 3 heads"));
  CHECK_THROWS_WITH(attention(q, k, v, {.heads = 0}), Says("[attention] 0 heads; need 1 or more"));
  CHECK_THROWS_WITH(attention(q, k, zeros({2, 4, 6})), Says("k is (2, 5, 4) and v (2, 4, 6)"));
  CHECK_THROWS_WITH(attention(q, zeros({1, 5, 4}), v),
                    Says("need (batch, rows, width) and (batch, keys, width)"));
  CHECK_THROWS_WITH(attention(q, k, v, {.mask = zeros({2, 5}, i32)}),
                    Says("a mask of shape (2, 5) does not fit: need (rows, keys) = (3, 5)"));
  CHECK_THROWS_WITH(attention(q, k, v, {.mask = zeros({3, 5})}), Says("the mask must be i32"));
  CHECK_THROWS_WITH(attention(q, k, v.to(f64)), Says("[attention] dtypes differ"));
  CHECK_THROWS_WITH(attention_weights(q, k, {.heads = 3}), Says("[attention_weights]"));
}
