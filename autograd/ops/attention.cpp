#include "autograd/ops/attention.hpp"

#include <cmath>

#include "autograd/create.hpp"
#include "autograd/kernels/attention.hpp"
#include "autograd/ops/attention_steps.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/reduce.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/tape.hpp"

namespace pencil {

using detail::attention_mask;
using detail::built_in;
using detail::heads_apart;
using detail::heads_of;
using detail::heads_together;
using detail::mask_shape;
using detail::weights_mask;

namespace {

// The sizes for the kernels; in[mask_at] is the mask if there is one.
kernels::AttentionShape shape_for(Inputs in, std::size_t mask_at, const Attributes& attributes) {
  const Tensor &q = in[0], &k = in[1];
  kernels::AttentionShape shape;
  shape.batch = q.rank() == 3 ? q.size(0) : 1;
  shape.heads = heads_of(attributes);
  shape.queries = q.size(-2);
  shape.keys = k.size(-2);
  shape.width = q.size(-1) / shape.heads;
  if (mask_at == 3) shape.value_width = in[2].size(-1) / shape.heads;
  shape.scale = attributes.get<double>("scale");
  shape.causal = attributes.get<bool>("causal");
  if (in.size() > mask_at) {
    shape.mask = in[mask_at].values<std::int32_t>().data();
    const Shape sizes = mask_shape(in[mask_at]);
    std::int64_t step = 1;
    for (int axis = 3; axis >= 0; --axis) {
      shape.mask_stride[axis] = sizes[axis] == 1 ? 0 : step;
      step *= sizes[axis];
    }
  }
  return shape;
}

Computed attention_forward(Inputs in, const Attributes& attributes) {
  const kernels::AttentionShape shape = shape_for(in, attention_mask, attributes);
  const Tensor& q = in[0];
  Tensor out = empty(q.shape().with(-1, in[2].size(-1)), q.dtype());
  Tensor lse = empty({shape.batch, shape.heads, shape.queries}, q.dtype());
  dispatch_float(q.dtype(), [&]<class T>(T) {
    kernels::attention(shape, q.values<T>().data(), in[1].values<T>().data(), in[2].values<T>().data(),
                       out.writable<T>().data(), lse.writable<T>().data());
  });
  return {out, {lse}};
}

std::vector<Tensor> inputs_of(const Step& s) {
  std::vector<Tensor> inputs;
  for (int i = 0; i < s.inputs(); ++i) inputs.push_back(s.input(i));
  return inputs;
}

Gradients attention_rule(const Step& s, const Tensor& dy, Needs needs) {
  const std::vector<Tensor> in = inputs_of(s);
  Gradients gradients(in.size());
  for (std::size_t i = 0; i < 3; ++i)
    if (needs[i]) gradients[i] = empty(in[i].shape(), in[i].dtype());
  dispatch_float(dy.dtype(), [&]<class T>(T) {
    const auto numbers_of = [&](std::size_t i) {
      return gradients[i].defined() ? gradients[i].writable<T>().data() : nullptr;
    };
    kernels::attention_gradient(shape_for(in, attention_mask, s.attributes()), in[0].values<T>().data(),
                                in[1].values<T>().data(), in[2].values<T>().data(),
                                s.output().values<T>().data(), s.saved(0).values<T>().data(),
                                dy.values<T>().data(), numbers_of(0), numbers_of(1), numbers_of(2));
  });
  return gradients;
}

// How many scores there are, over batch and heads, and the multiplications and additions that one takes.
struct Scores {
  double count, products;
};
Scores scores_of(const WorkSizes& sizes, const Attributes& attributes) {
  const Shape &q = sizes.inputs[0], &k = sizes.inputs[1];
  const auto heads = static_cast<double>(heads_of(attributes));
  const auto rows = static_cast<double>(q.without(-1).size()), keys = static_cast<double>(k[-2]);
  return {heads * rows * keys, 2 * static_cast<double>(q[-1]) / heads};
}

// For each score, masked or not: q·k, 5 for its scale and softmax (scale, subtract, e^x, add, divide), and
// its part of the mix. Back: its parts of dv; of dw and 5 for ds; of dq; of dk. Scores computed again do not
// count.
Work attention_work(const WorkSizes& sizes, const Attributes& attributes) {
  const auto [scores, product] = scores_of(sizes, attributes);
  const double mix = 2 * static_cast<double>(sizes.inputs[2][-1] / heads_of(attributes));
  const bool dq = sizes.needs[0], dk = sizes.needs[1], dv = sizes.needs[2];
  return {scores * (product + 5 + mix), scores * (dv * mix + (dq || dk) * (mix + 5) + (dq + dk) * product)};
}

Work weights_work(const WorkSizes& sizes, const Attributes& attributes) {
  const auto [scores, product] = scores_of(sizes, attributes);
  const bool dq = sizes.needs[0], dk = sizes.needs[1];
  return {scores * (product + 5), scores * ((dq || dk) * 5 + (dq + dk) * product)};
}

// (batch, heads, rows, keys); in[mask_at] is the mask if there is one.
Tensor weights_of(Inputs in, std::size_t mask_at, const Attributes& attributes) {
  const kernels::AttentionShape shape = shape_for(in, mask_at, attributes);
  Tensor weights = empty({shape.batch, shape.heads, shape.queries, shape.keys}, in[0].dtype());
  dispatch_float(weights.dtype(), [&]<class T>(T) {
    kernels::attention_weights(shape, in[0].values<T>().data(), in[1].values<T>().data(),
                               weights.writable<T>().data());
  });
  return weights;
}

// y = w v, w = softmax(scale q kᵀ) over what may be looked at
// dv = wᵀ dy        ds = w (dw − Σ w dw), dw = dy vᵀ        dq = scale ds k        dk = scale dsᵀ q
const Op attention_op = built_in("attention", {.forward = attention_forward,
                                               .rule = attention_rule,
                                               .composed = detail::attention_in_steps,
                                               .work = attention_work,
                                               .role = "mix",
                                               .zero = "masked, saturated, or multiplied by 0",
                                               .constant = 0b1000,
                                               .explain = detail::explain_attention,
                                               .weights = [](Inputs in, const Attributes& attributes) {
                                                 return weights_of(in, attention_mask, attributes);
                                               }});

Tensor weights_forward(Inputs in, const Attributes& attributes) {
  return weights_of(in, weights_mask, attributes);
}

// As weights_in_steps has it; q and k with separated heads, ds under the shape of their scores.
Gradients weights_rule(const Step& s, const Tensor& dy, Needs needs) {
  const std::vector<Tensor> in = inputs_of(s);
  const std::int64_t heads = heads_of(s.attributes());
  const Tensor q = heads_apart(in[0], heads);
  const Tensor k = heads_apart(in[1], heads);
  const Tensor& y = s.output();
  const Tensor total = sum(y * dy, -1, true);
  const Tensor by_row = y * (dy - total);
  const Tensor ds = reshape(by_row * s.attribute<double>("scale"), q.shape().with(-1, y.size(-1)));
  Gradients gradients(in.size());
  if (needs[0]) gradients[0] = heads_together(matmul(ds, k), in[0].shape());
  if (needs[1]) gradients[1] = heads_together(matmul(ds, q, {.transpose_left = true}), in[1].shape());
  return gradients;
}

// w = softmax(scale q kᵀ) over what may be looked at
// dq = scale ds k        dk = scale dsᵀ q        with ds = w (dw − Σ w dw)
const Op weights_op = built_in("attention_weights", {.forward = weights_forward,
                                                     .rule = weights_rule,
                                                     .composed = detail::weights_in_steps,
                                                     .work = weights_work,
                                                     .role = "weights",
                                                     .zero = "masked, or saturated",
                                                     .constant = 0b100,
                                                     .explain = detail::explain_weights,
                                                     .weights = weights_forward});

void check_sides(const char* who, const Tensor& q, const Tensor& k, const AttentionOptions& options) {
  const int heads = options.heads;
  detail::need_floats(who, q, k);
  if (heads < 1) fail("[{}] {} heads; need 1 or more", who, heads);
  if (!std::isfinite(options.scale)) fail("[{}] the scale is {}; need a finite number", who, options.scale);
  if (q.rank() < 2 || q.rank() > 3 || k.rank() != q.rank() || (q.rank() == 3 && k.size(0) != q.size(0)))
    fail("[{}] q is {} and k {}; need (batch, rows, width) and (batch, keys, width), or both without batch",
         who, q.shape(), k.shape());
  if (q.size(-1) != k.size(-1) || q.size(-1) % heads != 0)
    fail("[{}] q is {} and k {}; their last sizes must agree and be a multiple of the {} heads", who,
         q.shape(), k.shape(), heads);
}

void check_mask(const char* who, const Tensor& mask, const Tensor& q, const Tensor& k, int heads) {
  detail::need_i32(who, "mask", mask);
  const std::int64_t batch = q.rank() == 3 ? q.size(0) : 1, rows = q.size(-2), keys = k.size(-2);
  bool fits = mask.rank() >= 2 && mask.rank() <= 4;
  if (fits) {
    const Shape shape = mask_shape(mask), full{batch, heads, rows, keys};
    for (int axis = 0; axis < 3; ++axis) fits = fits && (shape[axis] == 1 || shape[axis] == full[axis]);
    fits = fits && shape[3] == keys;
  }
  if (!fits)
    fail(
        "[{}] a mask of shape {} does not fit: need (rows, keys) = ({}, {}), (batch, rows, keys) with batch "
        "{}, or (batch, heads, rows, keys) with {} heads; sizes but for keys may be 1",
        who, mask.shape(), rows, keys, batch, heads);
}

Attributes attributes_of(const Tensor& q, const AttentionOptions& options) {
  const double width = static_cast<double>(q.size(-1)) / options.heads;
  const double scale = options.scale != 0 ? options.scale : width > 0 ? 1 / std::sqrt(width) : 1;
  return {{"heads", std::int64_t{options.heads}}, {"causal", options.causal}, {"scale", scale}};
}

}  // namespace

Tensor attention(const Located& q, const Located& k, const Located& v, const AttentionOptions& options) {
  constexpr const char* who = "attention";
  check_sides(who, q, k, options);
  detail::need_floats(who, q, v);
  if (v->rank() != k->rank() || v->shape().with(-1, 1) != k->shape().with(-1, 1) ||
      v->size(-1) % options.heads != 0)
    fail(
        "[attention] k is {} and v {}; they must agree in all but the last size, which in v must be a "
        "multiple of the {} heads",
        k->shape(), v->shape(), options.heads);
  if (!options.mask.defined()) return apply(attention_op, {q, k, v}, attributes_of(q, options));
  check_mask(who, options.mask, q, k, options.heads);
  return apply(attention_op, {q, k, v, {options.mask, q.where}}, attributes_of(q, options));
}

Tensor attention_weights(const Located& q, const Located& k, const AttentionOptions& options) {
  constexpr const char* who = "attention_weights";
  check_sides(who, q, k, options);
  if (!options.mask.defined()) return apply(weights_op, {q, k}, attributes_of(q, options));
  check_mask(who, options.mask, q, k, options.heads);
  return apply(weights_op, {q, k, {options.mask, q.where}}, attributes_of(q, options));
}

}  // namespace pencil
