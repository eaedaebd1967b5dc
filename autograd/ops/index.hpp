#pragma once

#include "autograd/op.hpp"

namespace pencil {

/// Numbers taken along an axis: y[…, j, …] = x[…, ids[…, j, …], …]. ids (i32) has the rank of x and its sizes
/// but along the axis, any number there. A number taken twice gets both gradients. Throws Error for an id
/// outside 0 … size − 1, with its position.
Tensor gather(const Located& x, int axis, const Located& ids);
/// The opposite, and its gradient: zeros with `size` places along the axis, to which y is added at ids.
Tensor scatter_add(const Located& y, int axis, const Located& ids, std::int64_t size);

struct EmbeddingOptions {
  /// A row that gets no gradient, ever, and is an ordinary row otherwise; −1 for none.
  std::int64_t padding = -1;
};

/// Rows of a table: table (rows, width), ids (…) i32 → (…, width). Rows taken several times add up their
/// gradients. Throws Error for an id outside 0 … rows − 1, with its position; nothing wraps around.
Tensor embedding(const Located& table, const Located& ids, const EmbeddingOptions& options = {});
/// The opposite, and its gradient: (rows, width), to which the rows of y (…, width) are added at ids (…);
/// those of the padding row are left out.
Tensor scatter_rows(const Located& y, const Located& ids, std::int64_t rows,
                    const EmbeddingOptions& options = {});

/// ids (…) i32 → (…, classes): 1 at the id, 0 elsewhere. A mark: no gradient passes. Throws Error for an id
/// outside 0 … classes − 1.
Tensor one_hot(const Located& ids, std::int64_t classes, DType dtype = f32);

}  // namespace pencil
