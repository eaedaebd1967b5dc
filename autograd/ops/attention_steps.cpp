#include "autograd/ops/attention_steps.hpp"

#include <cmath>

#include "autograd/create.hpp"
#include "autograd/ops/elementwise.hpp"
#include "autograd/ops/matmul.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/softmax.hpp"
#include "autograd/ops/worked.hpp"
#include "autograd/tape.hpp"

namespace pencil::detail {

Shape mask_shape(const Tensor& mask) {
  if (mask.rank() == 4) return mask.shape();
  if (mask.rank() == 3) return mask.shape().inserted(1, 1);
  return mask.shape().inserted(0, 1).inserted(0, 1);
}

std::int64_t heads_of(const Attributes& attributes) { return attributes.get<std::int64_t>("heads"); }

Tensor heads_apart(const Tensor& x, std::int64_t heads) {
  if (heads == 1) return x;
  const std::int64_t width = x.size(-1) / heads;
  if (x.rank() == 2) return permute(reshape(x, {x.size(0), heads, width}), {1, 0, 2});
  return permute(reshape(x, {x.size(0), x.size(1), heads, width}), {0, 2, 1, 3});
}

Tensor heads_together(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const Role role("glue");
  const Tensor side_by_side = x.rank() == 3 ? permute(x, {1, 0, 2}) : permute(x, {0, 2, 1, 3});
  return reshape(side_by_side, shape);
}

namespace {

// 1 where a row may look at a key, as it broadcasts against scores (…, rows, keys) of a step with separated
// heads; no tensor where every row sees every key.
Tensor visible(Inputs in, std::size_t mask_at, const Attributes& attributes, const Shape& scores) {
  const bool masked = in.size() > mask_at, causal = attributes.get<bool>("causal");
  if (!masked && !causal) return {};
  Shape shape = masked ? mask_shape(in[mask_at]) : Shape{1, 1, 1, scores[-1]};
  if (causal) shape = shape.with(2, scores[-2]);
  const Tensor given =
      masked ? spread(with_shape(in[mask_at], mask_shape(in[mask_at])), shape) : ones(shape, i32);
  Tensor seen = empty(shape, i32);
  const auto from = given.values<std::int32_t>();
  const auto to = seen.writable<std::int32_t>();
  const std::int64_t rows = scores[-2], keys = scores[-1];
  for (std::int64_t i = 0; i < given.size(); ++i) {
    const bool before = !causal || i % keys <= i / keys % rows + keys - rows;
    to[static_cast<std::size_t>(i)] = before && from[static_cast<std::size_t>(i)] != 0;
  }
  if (heads_of(attributes) == 1) shape = shape.without(1);
  if (in[0].rank() == 2) shape = shape.without(0);
  return with_shape(seen, shape);
}

// The weights with separated heads, in simple ops: (…, rows, keys).
Tensor weights_with_heads(Inputs in, std::size_t mask_at, const Attributes& attributes) {
  const std::int64_t heads = heads_of(attributes);
  const Tensor q = heads_apart(in[0], heads);
  const Tensor k = heads_apart(in[1], heads);
  Tensor scores, scaled;
  {
    const Role role("scores");
    scores = matmul(q, k, {.transpose_right = true});
  }
  {
    const Role role("scale");
    scaled = scores * attributes.get<double>("scale");
  }
  const Role role("weights");
  const Tensor seen = visible(in, mask_at, attributes, scaled.shape());
  return seen.defined() ? masked_softmax(scaled, seen) : softmax(scaled);
}

}  // namespace

Tensor attention_in_steps(Inputs in, const Attributes& attributes) {
  const Tensor weights = weights_with_heads(in, attention_mask, attributes);
  const Tensor v = heads_apart(in[2], heads_of(attributes));
  Tensor mix;
  {
    const Role role("mix");
    mix = matmul(weights, v);
  }
  return heads_together(mix, in[0].shape().with(-1, in[2].size(-1)));
}

Tensor weights_in_steps(Inputs in, const Attributes& attributes) {
  const Tensor weights = weights_with_heads(in, weights_mask, attributes);
  const std::int64_t batch = in[0].rank() == 3 ? in[0].size(0) : 1;
  const Shape shape{batch, heads_of(attributes), in[0].size(-2), in[1].size(-2)};
  return weights.shape() == shape ? weights : reshape(weights, shape);
}

namespace {

// Which row looks, and in which head.
struct Looking {
  std::int64_t batch, head, row;
};

// A row's weights: those of the keys that it may look at, none where these have nothing to share.
struct RowWeights {
  std::vector<std::int64_t> keys;
  std::vector<Worked> weights;
};

bool may_look(const Worksheet& sheet, int mask_at, const Looking& at, std::int64_t key) {
  const Step& s = sheet.step();
  const std::int64_t rows = s.input(0).size(-2), keys = s.input(1).size(-2);
  if (s.attribute<bool>("causal") && key > at.row + keys - rows) return false;
  if (s.inputs() <= mask_at) return true;
  const Shape mask = mask_shape(s.input(mask_at));
  std::int64_t place = 0;
  const std::int64_t index[]{at.batch, at.head, at.row, key};
  for (int axis = 0; axis < 4; ++axis) place = place * mask[axis] + (mask[axis] == 1 ? 0 : index[axis]);
  return sheet.read(mask_at, place) != 0;
}

// q·k of a row and a key.
Worked score_of(Worksheet& sheet, const Looking& at, std::int64_t key) {
  const Step& s = sheet.step();
  const std::int64_t all = s.input(0).size(-1), width = all / heads_of(s.attributes());
  const std::int64_t q = (at.batch * s.input(0).size(-2) + at.row) * all + at.head * width;
  const std::int64_t k = (at.batch * s.input(1).size(-2) + key) * all + at.head * width;
  std::vector<Worked> products;
  for (std::int64_t i = 0; i < width; ++i) products.push_back(sheet.input(0, q + i) * sheet.input(1, k + i));
  return sheet.sum(products);
}

// A score times the scale; divided by √width, as the documents have it, where the scale is that.
Worked scaled(const Step& s, const Worked& score) {
  const std::int64_t width = s.input(0).size(-1) / heads_of(s.attributes());
  const double scale = s.attribute<double>("scale"), root = std::sqrt(static_cast<double>(width));
  return scale == 1 / root ? score / root : score * scale;
}

// Stage by stage: all scores, then each scaled, and so on.
RowWeights row_weights(Worksheet& sheet, int mask_at, const Looking& at) {
  const Step& s = sheet.step();
  const std::int64_t keys = s.input(1).size(-2);
  RowWeights row;
  for (std::int64_t key = 0; key < keys; ++key)
    if (may_look(sheet, mask_at, at, key)) row.keys.push_back(key);
  note_hidden(sheet, keys - std::ssize(row.keys), keys);
  if (row.keys.empty()) return row;

  std::vector<Worked> x;
  for (const std::int64_t key : row.keys) x.push_back(sheet.line("scores", score_of(sheet, at, key)));
  if (s.attribute<double>("scale") != 1)
    for (Worked& score : x) score = sheet.line("scale", scaled(s, score));
  if (nothing_to_share(sheet, x)) return {};
  const BlownUp e = blown_up(sheet, x, s.dtype(), true);
  note_shift(sheet, x, e);
  for (const Worked& each : e.each) row.weights.push_back(each / e.total);
  return row;
}

}  // namespace

Worked explain_attention(Worksheet& sheet, std::int64_t element) {
  const Step& s = sheet.step();
  const std::int64_t all = s.shape()[-1], rows = s.shape()[-2], width = all / heads_of(s.attributes());
  const std::int64_t column = element % all, batch = element / all / rows;
  const Looking at{batch, column / width, element / all % rows};
  const RowWeights row = row_weights(sheet, attention_mask, at);
  const std::int64_t keys = s.input(1).size(-2);
  std::vector<Worked> shares;
  for (std::size_t i = 0; i < row.keys.size(); ++i)
    shares.push_back(sheet.line("weights", row.weights[i]) *
                     sheet.input(2, (batch * keys + row.keys[i]) * all + column));
  return sheet.sum(shares);
}

Worked explain_weights(Worksheet& sheet, std::int64_t element) {
  const Shape& y = sheet.step().shape();
  const std::int64_t key = element % y[3];
  const Looking at{element / (y[1] * y[2] * y[3]), element / (y[2] * y[3]) % y[1], element / y[3] % y[2]};
  const RowWeights row = row_weights(sheet, weights_mask, at);
  for (std::size_t i = 0; i < row.keys.size(); ++i)
    if (row.keys[i] == key) return row.weights[i];
  return 0;
}

}  // namespace pencil::detail
