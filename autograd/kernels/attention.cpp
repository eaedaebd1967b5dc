#include "autograd/kernels/attention.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "autograd/kernels/isa/attention.hpp"
#include "autograd/kernels/isa/tile_products.hpp"
#include "autograd/kernels/scratch.hpp"
#include "autograd/kernels/threads.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

template <class T>
const AttentionTable<T>& table() {
  static const AttentionTable<T>& chosen =
      choose([]<Isa set>() -> const AttentionTable<T>& { return attention_table<T, set>(); });
  return chosen;
}

template <class T>
const TileProducts<T>& products() {
  static const TileProducts<T>& chosen =
      choose([]<Isa set>() -> const TileProducts<T>& { return tile_products<T, set>(); });
  return chosen;
}

Size pieces(Size size, Size piece) { return (size + piece - 1) / piece; }

/// How the queries of one head are cut into tiles of scores, few enough for the nearest caches, and how many
/// keys are looked at together: at most `most_keys`, a multiple of a panel.
struct Tiles {
  Tiles(const AttentionShape& s, Size panel, Size most_keys)
      : packed_rows(pieces(std::max<Size>(s.keys, 1), panel) * panel),
        pitch(std::min(packed_rows, most_keys)),
        rows(std::clamp<Size>(tile_scores / pitch / row_block, 1, most_rows / row_block) * row_block),
        count(pieces(s.queries, rows)),
        per_group(pieces(count, std::clamp<Size>(pieces(16, std::max<Size>(s.batch * s.heads, 1)), 1,
                                                 std::max<Size>(count, 1)))),
        groups(count == 0 ? 1 : pieces(count, per_group)) {}
  static constexpr Size row_block = 12;  // what the products like to have
  static constexpr Size tile_scores = 8192;
  Size packed_rows;  // of keys and values
  Size pitch;
  Size rows;
  Size count;
  // Tiles are worked through in groups: one a head, or several where there are few heads to share out.
  Size per_group;
  Size groups;

  Size scores_size() const { return rows * pitch; }
  Size first(Size group) const { return group * per_group; }
  Size last(Size group) const { return std::min(count, (group + 1) * per_group); }
};

/// A matrix within a larger one: rows `stride` numbers apart.
template <class T>
struct Matrix {
  T* data;
  Size stride;
  T* row(Size i) const { return data + i * stride; }
};

/// The rows of head `head` (counted through batches) in x (batch, length, heads · width).
template <class T>
Matrix<T> of_head(const AttentionShape& s, T* x, Size head, Size length, Size width) {
  if (x == nullptr) return {nullptr, 0};
  return {x + head / s.heads * length * s.heads * width + head % s.heads * width, s.heads * width};
}

/// Some queries of one head: rows first … first + rows − 1, which see at most the first `keys` keys.
struct Tile {
  Size first;
  Size rows;
  Size keys;
  Visible visible;
};

Tile tile_of(const AttentionShape& s, const Tiles& tiles, Size head, Size index) {
  Tile t;
  t.first = index * tiles.rows;
  t.rows = std::min(tiles.rows, s.queries - t.first);
  t.keys = s.keys;
  t.visible.first = s.keys;
  if (s.causal) {
    t.visible.first = t.first + (s.keys - s.queries) + 1;
    t.visible.step = 1;
    t.keys = std::clamp<Size>(t.visible.first + t.rows - 1, 0, s.keys);
  }
  if (s.mask != nullptr) {
    t.visible.mask = s.mask + head / s.heads * s.mask_stride[0] + head % s.heads * s.mask_stride[1] +
                     t.first * s.mask_stride[2];
    t.visible.row_stride = s.mask_stride[2];
    t.visible.key_stride = s.mask_stride[3];
    // One row of the mask for all queries: what it hides at the end, as of a padded review, is left out.
    if (s.mask_stride[2] == 0)
      while (t.keys > 0 && t.visible.mask[(t.keys - 1) * s.mask_stride[3]] == 0) --t.keys;
  }
  return t;
}

bool hides(const AttentionShape& s) { return s.causal || s.mask != nullptr; }

template <class T>
void clear(Matrix<T> x, Size rows, Size width) {
  for (Size i = 0; i < rows; ++i) std::fill_n(x.row(i), width, T{0});
}

// Products with a tile of weights or of their gradients, in which hidden places are 0. Where the other factor
// holds infinity or NaN, 0 times it would not be 0: then terms of weight 0 are left out one by one.

/// y (rows, width) += w (rows, keys) x (keys, width), each row times its factor (1 where there are none); y
/// starts at 0 unless it is to be `more`.
template <class T>
void combine(bool finite, bool more, Size rows, Size keys, Size width, const T* factors, Matrix<const T> w,
             Matrix<const T> x, Matrix<T> y) {
  if (finite && keys > 0)
    return products<T>().times(rows, width, keys, factors, w.data, w.stride, x.data, x.stride, more, y.data,
                               y.stride);
  if (!more) clear(y, rows, width);
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < keys; ++j)
      if (const T weight = w.row(i)[j] * (factors == nullptr ? 1 : factors[i]); weight != 0)
        for (Size a = 0; a < width; ++a) y.row(i)[a] += weight * x.row(j)[a];
}

/// y (keys, width) += wᵀ (keys, rows) x (rows, width)
template <class T>
void spread(bool finite, Size rows, Size keys, Size width, Matrix<const T> w, Matrix<const T> x,
            Matrix<T> y) {
  if (finite)
    return products<T>().add_transposed_times(keys, width, rows, w.data, w.stride, x.data, x.stride, y.data,
                                              y.stride);
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < keys; ++j)
      if (const T weight = w.row(i)[j]; weight != 0)
        for (Size a = 0; a < width; ++a) y.row(j)[a] += weight * x.row(i)[a];
}

/// x (keys, width), packed into memory.
template <class T>
const T* packed(Size keys, Size width, Matrix<const T> x, T* memory) {
  products<T>().pack(keys, width, x.data, x.stride, memory);
  return memory;
}

/// scores (rows, keys) = factor · a bᵀ, b (keys, width) packed
template <class T>
void score(const Tile& t, Size keys, Size width, double factor, Matrix<const T> a, const T* b,
           Matrix<T> scores) {
  products<T>().times_packed(t.rows, keys, width, static_cast<T>(factor), a.row(t.first), a.stride, b,
                             scores.data, scores.stride);
}

/// How many groups make a piece of work of about a million operations.
Size grain_for(const AttentionShape& s, const Tiles& tiles) {
  const double work = 2.0 * static_cast<double>(std::min(tiles.rows * tiles.per_group, s.queries)) *
                      static_cast<double>(s.keys) * static_cast<double>(s.width + s.value_width);
  return static_cast<Size>(std::clamp(1e6 / std::max(work, 1.0), 1.0, 1e6));
}

/// The inputs of one head.
template <class T>
struct Head {
  Head(const AttentionShape& s, Size head, const T* q_all, const T* k_all, const T* v_all)
      : q(of_head(s, q_all, head, s.queries, s.width)),
        k(of_head(s, k_all, head, s.keys, s.width)),
        v(of_head(s, v_all, head, s.keys, s.value_width)) {}
  Matrix<const T> q, k, v;
};

/// The gradients of one head, or of a share of its queries.
template <class T>
struct HeadGradients {
  Matrix<T> dq, dk, dv;
};

/// Working memory of one piece of the gradient: scores and their gradients, keys and values packed.
Size gradient_memory(const AttentionShape& s, const Tiles& tiles) {
  return 2 * tiles.scores_size() + (s.width + s.value_width) * tiles.packed_rows;
}

/// Works through the tiles of one group of one head: writes their rows of dq, and dk and dv as their sums.
template <class T>
void group_gradient(const AttentionShape& s, const Tiles& tiles, Size head, Size group, const Head<T>& in,
                    const T* out_all, const T* lse_all, const T* dout_all, const HeadGradients<T>& to,
                    T* memory) {
  const auto out = of_head(s, out_all, head, s.queries, s.value_width);
  const auto dout = of_head(s, dout_all, head, s.queries, s.value_width);
  const auto finite = [&](Matrix<const T> x, Size from, Size rows, Size width) {
    return !hides(s) || table<T>().finite(rows, width, x.stride, x.row(from));
  };
  const Matrix<T> scores{memory, tiles.pitch}, dweights{scores.row(tiles.rows), tiles.pitch};
  const Matrix<const T> weights{scores.data, tiles.pitch}, dscores{dweights.data, tiles.pitch};
  const T* const keys = packed(s.keys, s.width, in.k, dweights.row(tiles.rows));
  const T* const values =
      packed(s.keys, s.value_width, in.v, dweights.row(tiles.rows) + s.width * tiles.packed_rows);
  if (to.dk.data) clear(to.dk, s.keys, s.width);
  if (to.dv.data) clear(to.dv, s.keys, s.value_width);
  const bool keys_finite = finite(in.k, 0, s.keys, s.width);
  for (Size index = tiles.first(group); index < tiles.last(group); ++index) {
    const Tile t = tile_of(s, tiles, head, index);
    const bool queries_finite = finite(in.q, t.first, t.rows, s.width),
               dout_finite = finite(dout, t.first, t.rows, s.value_width);
    if (to.dq.data && t.keys == 0) clear<T>({to.dq.row(t.first), to.dq.stride}, t.rows, s.width);
    for (Size key = 0; key < t.keys; key += tiles.pitch) {
      const Size count = std::min(tiles.pitch, t.keys - key);
      score(t, count, s.width, s.scale, in.q, keys + key * s.width, scores);
      score(t, count, s.value_width, 1, dout, values + key * s.value_width, dweights);
      table<T>().gradients(t.rows, count, tiles.pitch, t.visible.from(key), static_cast<T>(s.scale),
                           lse_all + head * s.queries + t.first, s.value_width, out.stride, out.row(t.first),
                           dout.row(t.first), scores.data, dweights.data);
      if (to.dv.data)
        spread<T>(dout_finite, t.rows, count, s.value_width, weights, {dout.row(t.first), dout.stride},
                  {to.dv.row(key), to.dv.stride});
      if (to.dk.data)
        spread<T>(queries_finite, t.rows, count, s.width, dscores, {in.q.row(t.first), in.q.stride},
                  {to.dk.row(key), to.dk.stride});
      if (to.dq.data)
        combine<T>(keys_finite, key > 0, t.rows, count, s.width, nullptr, dscores,
                   {in.k.row(key), in.k.stride}, {to.dq.row(t.first), to.dq.stride});
    }
  }
}

/// The weights of all tiles: calls use(head, tile, weights but for their rows' factors, these, lse of the
/// rows).
template <class T, class Use>
void for_weights(const AttentionShape& s, const T* q, const T* k, const Use& use) {
  const Tiles tiles(s, products<T>().panel, std::numeric_limits<Size>::max());
  parallel_for(s.batch * s.heads * tiles.groups, grain_for(s, tiles), [&](Size begin, Size end) {
    const Scratch<T> scratch(tiles.scores_size() + s.width * tiles.packed_rows + 2 * most_rows);
    const Matrix<T> scores{scratch.data(), tiles.pitch};
    T* const packed_keys = scores.row(tiles.rows);
    T* const lse = packed_keys + s.width * tiles.packed_rows;
    T* const factors = lse + most_rows;
    for (Size item = begin; item < end; ++item) {
      const Size head = item / tiles.groups, group = item % tiles.groups;
      const auto queries = of_head(s, q, head, s.queries, s.width);
      const T* const keys = packed(s.keys, s.width, of_head(s, k, head, s.keys, s.width), packed_keys);
      for (Size index = tiles.first(group); index < tiles.last(group); ++index) {
        const Tile t = tile_of(s, tiles, head, index);
        score(t, t.keys, s.width, s.scale, queries, keys, scores);
        table<T>().weights(t.rows, t.keys, tiles.pitch, t.visible, scores.data, lse, factors);
        use(head, t, Matrix<const T>{scores.data, scores.stride}, factors, lse);
      }
    }
  });
}

template <class T>
void add_rows(Size rows, Size width, const T* from, Matrix<T> to) {
  for (Size i = 0; i < rows; ++i)
    for (Size a = 0; a < width; ++a) to.row(i)[a] += from[i * width + a];
}

}  // namespace

template <class T>
void attention(const AttentionShape& s, const T* q, const T* k, const T* v, T* out, T* lse) {
  for_weights(
      s, q, k, [&](Size head, const Tile& t, Matrix<const T> weights, const T* factors, const T* tile_lse) {
        std::copy_n(tile_lse, t.rows, lse + head * s.queries + t.first);
        const auto values = of_head(s, v, head, s.keys, s.value_width);
        const bool finite = !hides(s) || table<T>().finite(t.keys, s.value_width, values.stride, values.data);
        const auto to = of_head(s, out, head, s.queries, s.value_width);
        combine<T>(finite, false, t.rows, t.keys, s.value_width, factors, weights, values,
                   {to.row(t.first), to.stride});
      });
}

template <class T>
void attention_weights(const AttentionShape& s, const T* q, const T* k, T* weights) {
  for_weights(s, q, k, [&](Size head, const Tile& t, Matrix<const T> tile, const T* factors, const T*) {
    for (Size i = 0; i < t.rows; ++i) {
      T* to = weights + (head * s.queries + t.first + i) * s.keys;
      for (Size j = 0; j < t.keys; ++j)  // the factor is NaN beside a NaN that is seen
        to[j] = t.visible.sees(i, j) ? tile.row(i)[j] * factors[i] : T{0};
      std::fill(to + t.keys, to + s.keys, T{0});
    }
  });
}

template <class T>
void attention_gradient(const AttentionShape& s, const T* q, const T* k, const T* v, const T* out,
                        const T* lse, const T* dout, T* dq, T* dk, T* dv) {
  const Tiles tiles(s, products<T>().panel, 128);
  const Size heads = s.batch * s.heads;
  // Every group of a head sums its own dk and dv: the first in place, the others in memory of their own,
  // which is then added in order.
  const Size dk_size = dk ? s.keys * s.width : 0, dv_size = dv ? s.keys * s.value_width : 0;
  std::optional<Scratch<T>> shares;
  if (tiles.groups > 1) shares.emplace(heads * (tiles.groups - 1) * (dk_size + dv_size));
  const auto share = [&](Size head, Size group) {
    return shares->data() + (head * (tiles.groups - 1) + group - 1) * (dk_size + dv_size);
  };
  const auto in_place = [&](Size head) {
    return HeadGradients<T>{of_head(s, dq, head, s.queries, s.width), of_head(s, dk, head, s.keys, s.width),
                            of_head(s, dv, head, s.keys, s.value_width)};
  };

  parallel_for(heads * tiles.groups, grain_for(s, tiles), [&](Size begin, Size end) {
    const Scratch<T> scratch(gradient_memory(s, tiles));
    for (Size item = begin; item < end; ++item) {
      const Size head = item / tiles.groups, group = item % tiles.groups;
      HeadGradients<T> to = in_place(head);
      if (group > 0) {
        if (dk) to.dk = {share(head, group), s.width};
        if (dv) to.dv = {share(head, group) + dk_size, s.value_width};
      }
      group_gradient(s, tiles, head, group, Head<T>(s, head, q, k, v), out, lse, dout, to, scratch.data());
    }
  });
  if (tiles.groups == 1 || dk_size + dv_size == 0) return;
  parallel_for(heads, 1, [&](Size begin, Size end) {
    for (Size head = begin; head < end; ++head) {
      const HeadGradients<T> to = in_place(head);
      for (Size group = 1; group < tiles.groups; ++group) {
        if (dk) add_rows(s.keys, s.width, share(head, group), to.dk);
        if (dv) add_rows(s.keys, s.value_width, share(head, group) + dk_size, to.dv);
      }
    }
  });
}

#define PENCIL_INSTANTIATE(T)                                                                        \
  template void attention<T>(const AttentionShape&, const T*, const T*, const T*, T*, T*);           \
  template void attention_gradient<T>(const AttentionShape&, const T*, const T*, const T*, const T*, \
                                      const T*, const T*, T*, T*, T*);                               \
  template void attention_weights<T>(const AttentionShape&, const T*, const T*, T*);
PENCIL_INSTANTIATE(float)
PENCIL_INSTANTIATE(double)
#undef PENCIL_INSTANTIATE

}  // namespace pencil::kernels
