#include "autograd/kernels/attention.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "autograd/kernels/blas.hpp"
#include "autograd/kernels/isa/attention.hpp"
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

Size pieces(Size size, Size piece) { return (size + piece - 1) / piece; }

/// How the queries of one head are cut into tiles of scores.
struct Tiles {
  explicit Tiles(const AttentionShape& s)
      : pitch(pieces(std::max<Size>(s.keys, 1), tile_lanes) * tile_lanes),
        rows(std::clamp<Size>(65536 / pitch, 32, 128)),
        count(pieces(s.queries, rows)) {}
  Size pitch;
  Size rows;
  Size count;
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

/// y (rows, width) = w (rows, keys) x (keys, width)
template <class T>
void combine(bool finite, Size rows, Size keys, Size width, Matrix<const T> w, Matrix<const T> x,
             Matrix<T> y) {
  if (finite)
    return gemm_here<T>(false, false, rows, width, keys, 1, w.data, w.stride, x.data, x.stride, 0, y.data,
                        y.stride);
  clear(y, rows, width);
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < keys; ++j)
      if (const T weight = w.row(i)[j]; weight != 0)
        for (Size a = 0; a < width; ++a) y.row(i)[a] += weight * x.row(j)[a];
}

/// y (keys, width) += wᵀ (keys, rows) x (rows, width)
template <class T>
void spread(bool finite, Size rows, Size keys, Size width, Matrix<const T> w, Matrix<const T> x,
            Matrix<T> y) {
  if (finite)
    return gemm_here<T>(true, false, keys, width, rows, 1, w.data, w.stride, x.data, x.stride, 1, y.data,
                        y.stride);
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < keys; ++j)
      if (const T weight = w.row(i)[j]; weight != 0)
        for (Size a = 0; a < width; ++a) y.row(j)[a] += weight * x.row(i)[a];
}

/// scores (rows, keys) = factor · a bᵀ
template <class T>
void score(const Tile& t, Size width, double factor, Matrix<const T> a, Matrix<const T> b, Matrix<T> scores) {
  gemm_here<T>(false, true, t.rows, t.keys, width, static_cast<T>(factor), a.row(t.first), a.stride, b.data,
               b.stride, 0, scores.data, scores.stride);
}

/// How many tiles make a piece of work of about a million operations.
Size grain_for(const AttentionShape& s, const Tiles& tiles) {
  const double work = 2.0 * static_cast<double>(std::min(tiles.rows, s.queries)) *
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

/// Works through the tiles first … last − 1 of one head: writes their rows of dq, and dk and dv as their
/// sums.
template <class T>
void tiles_gradient(const AttentionShape& s, const Tiles& tiles, Size head, Size first, Size last,
                    const Head<T>& in, const T* out_all, const T* lse_all, const T* dout_all,
                    const HeadGradients<T>& to, T* memory) {
  const auto out = of_head(s, out_all, head, s.queries, s.value_width);
  const auto dout = of_head(s, dout_all, head, s.queries, s.value_width);
  const auto finite = [&](Matrix<const T> x, Size from, Size rows, Size width) {
    return !hides(s) || table<T>().finite(rows, width, x.stride, x.row(from));
  };
  const Matrix<T> scores{memory, tiles.pitch}, dweights{memory + tiles.rows * tiles.pitch, tiles.pitch};
  const Matrix<const T> weights{scores.data, tiles.pitch}, dscores{dweights.data, tiles.pitch};
  if (to.dk.data) clear(to.dk, s.keys, s.width);
  if (to.dv.data) clear(to.dv, s.keys, s.value_width);
  const bool keys_finite = finite(in.k, 0, s.keys, s.width);
  for (Size index = first; index < last; ++index) {
    const Tile t = tile_of(s, tiles, head, index);
    score(t, s.width, s.scale, in.q, in.k, scores);
    score(t, s.value_width, 1, dout, in.v, dweights);
    table<T>().gradients(t.rows, t.keys, tiles.pitch, t.visible, static_cast<T>(s.scale),
                         lse_all + head * s.queries + t.first, s.value_width, out.stride, out.row(t.first),
                         dout.row(t.first), scores.data, dweights.data);
    if (to.dv.data)
      spread<T>(finite(dout, t.first, t.rows, s.value_width), t.rows, t.keys, s.value_width, weights,
                {dout.row(t.first), dout.stride}, to.dv);
    if (to.dk.data)
      spread<T>(finite(in.q, t.first, t.rows, s.width), t.rows, t.keys, s.width, dscores,
                {in.q.row(t.first), in.q.stride}, to.dk);
    if (to.dq.data)
      combine<T>(keys_finite, t.rows, t.keys, s.width, dscores, in.k, {to.dq.row(t.first), to.dq.stride});
  }
}

template <class T>
void add_rows(Size rows, Size width, const T* from, Matrix<T> to) {
  for (Size i = 0; i < rows; ++i)
    for (Size a = 0; a < width; ++a) to.row(i)[a] += from[i * width + a];
}

}  // namespace

template <class T>
void attention(const AttentionShape& s, const T* q, const T* k, const T* v, T* out, T* lse) {
  const Tiles tiles(s);
  parallel_for(s.batch * s.heads * tiles.count, grain_for(s, tiles), [&](Size begin, Size end) {
    const Scratch<T> scratch(tiles.rows * tiles.pitch);
    const Matrix<T> scores{scratch.data(), tiles.pitch};
    for (Size item = begin; item < end; ++item) {
      const Size head = item / tiles.count;
      const Head<T> in(s, head, q, k, v);
      const Tile t = tile_of(s, tiles, head, item % tiles.count);
      score(t, s.width, s.scale, in.q, in.k, scores);
      table<T>().weights(t.rows, t.keys, tiles.pitch, t.visible, scores.data,
                         lse + head * s.queries + t.first);
      const bool finite = !hides(s) || table<T>().finite(t.keys, s.value_width, in.v.stride, in.v.data);
      const auto to = of_head(s, out, head, s.queries, s.value_width);
      combine<T>(finite, t.rows, t.keys, s.value_width, {scores.data, scores.stride}, in.v,
                 {to.row(t.first), to.stride});
    }
  });
}

template <class T>
void attention_gradient(const AttentionShape& s, const T* q, const T* k, const T* v, const T* out,
                        const T* lse, const T* dout, T* dq, T* dk, T* dv) {
  const Tiles tiles(s);
  const Size heads = s.batch * s.heads;
  if (heads == 0) return;
  // Few heads: the tiles of one are shared out to up to 16 / heads groups. Each sums its own dk and dv, the
  // first in place, the others in memory of their own that is then added in order.
  const Size wanted = std::clamp<Size>(pieces(16, heads), 1, std::max<Size>(tiles.count, 1));
  const Size per_group = std::max<Size>(1, pieces(tiles.count, wanted));
  const Size groups = std::max<Size>(1, pieces(tiles.count, per_group));
  const Size dk_size = dk ? s.keys * s.width : 0, dv_size = dv ? s.keys * s.value_width : 0;
  std::optional<Scratch<T>> shares;
  if (groups > 1) shares.emplace(heads * (groups - 1) * (dk_size + dv_size));
  const auto share = [&](Size head, Size group) {
    return shares->data() + (head * (groups - 1) + group - 1) * (dk_size + dv_size);
  };
  const auto in_place = [&](Size head) {
    return HeadGradients<T>{of_head(s, dq, head, s.queries, s.width), of_head(s, dk, head, s.keys, s.width),
                            of_head(s, dv, head, s.keys, s.value_width)};
  };

  parallel_for(heads * groups, groups > 1 ? 1 : grain_for(s, tiles), [&](Size begin, Size end) {
    const Scratch<T> scratch(2 * tiles.rows * tiles.pitch);
    for (Size item = begin; item < end; ++item) {
      const Size head = item / groups, group = item % groups;
      HeadGradients<T> to = in_place(head);
      if (group > 0) {
        if (dk) to.dk = {share(head, group), s.width};
        if (dv) to.dv = {share(head, group) + dk_size, s.value_width};
      }
      tiles_gradient(s, tiles, head, group * per_group, std::min(tiles.count, (group + 1) * per_group),
                     Head<T>(s, head, q, k, v), out, lse, dout, to, scratch.data());
    }
  });
  if (groups == 1 || dk_size + dv_size == 0) return;
  parallel_for(heads, 1, [&](Size begin, Size end) {
    for (Size head = begin; head < end; ++head) {
      const HeadGradients<T> to = in_place(head);
      for (Size group = 1; group < groups; ++group) {
        if (dk) add_rows(s.keys, s.width, share(head, group), to.dk);
        if (dv) add_rows(s.keys, s.value_width, share(head, group) + dk_size, to.dv);
      }
    }
  });
}

template <class T>
void attention_weights(const AttentionShape& s, const T* q, const T* k, T* weights) {
  const Tiles tiles(s);
  parallel_for(s.batch * s.heads * tiles.count, grain_for(s, tiles), [&](Size begin, Size end) {
    const Scratch<T> scratch(tiles.rows * (tiles.pitch + 1));
    const Matrix<T> scores{scratch.data(), tiles.pitch};
    for (Size item = begin; item < end; ++item) {
      const Size head = item / tiles.count;
      const Head<T> in(s, head, q, k, nullptr);
      const Tile t = tile_of(s, tiles, head, item % tiles.count);
      score(t, s.width, s.scale, in.q, in.k, scores);
      table<T>().weights(t.rows, t.keys, tiles.pitch, t.visible, scores.data, scores.row(tiles.rows));
      for (Size i = 0; i < t.rows; ++i) {
        T* to = weights + (head * s.queries + t.first + i) * s.keys;
        std::copy_n(scores.row(i), t.keys, to);
        std::fill(to + t.keys, to + s.keys, T{0});
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
