#include "autograd/kernels/rows.hpp"

#include <algorithm>

#include "autograd/kernels/isa/rows.hpp"
#include "autograd/kernels/reduce.hpp"
#include "autograd/kernels/scratch.hpp"
#include "autograd/kernels/threads.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

template <class T>
const RowTable<T>& table() {
  static const RowTable<T>& chosen =
      choose([]<Isa set>() -> const RowTable<T>& { return row_table<T, set>(); });
  return chosen;
}

/// Calls f(first row, rows) for pieces of about 8,192 numbers.
template <class F>
void for_rows(Size rows, Size width, const F& f) {
  const Size grain = std::max<Size>(1, 8192 / std::max<Size>(1, width));
  parallel_for(rows, grain, [&](Size begin, Size end) { f(begin, end - begin); });
}

const std::int32_t* rows_of(const std::int32_t* mask, Size at) {
  return mask == nullptr ? nullptr : mask + at;
}

}  // namespace

template <class T>
void softmax(Size rows, Size width, const std::int32_t* mask, const T* x, T* y) {
  for_rows(rows, width, [&](Size row, Size count) {
    table<T>().softmax(count, width, rows_of(mask, row * width), x + row * width, y + row * width);
  });
}

template <class T>
void softmax_gradient(Size rows, Size width, const std::int32_t* mask, const T* y, const T* dy, T* dx) {
  for_rows(rows, width, [&](Size row, Size count) {
    table<T>().softmax_gradient(count, width, rows_of(mask, row * width), y + row * width, dy + row * width,
                                dx + row * width);
  });
}

template <class T>
void log_softmax(Size rows, Size width, const T* x, T* y) {
  for_rows(rows, width, [&](Size row, Size count) {
    table<T>().log_softmax(count, width, x + row * width, y + row * width);
  });
}

template <class T>
void log_softmax_gradient(Size rows, Size width, const T* y, const T* dy, T* dx) {
  for_rows(rows, width, [&](Size row, Size count) {
    table<T>().log_softmax_gradient(count, width, y + row * width, dy + row * width, dx + row * width);
  });
}

template <class T>
void logsumexp(Size rows, Size width, const T* x, T* y) {
  for_rows(rows, width,
           [&](Size row, Size count) { table<T>().logsumexp(count, width, x + row * width, y + row); });
}

template <class T>
void logsumexp_gradient(Size rows, Size width, const T* x, const T* y, const T* dy, T* dx) {
  for_rows(rows, width, [&](Size row, Size count) {
    table<T>().logsumexp_gradient(count, width, x + row * width, y + row, dy + row, dx + row * width);
  });
}

template <class T>
void cross_entropy(Size rows, Size width, const T* x, const std::int32_t* labels, T* loss, T* lse) {
  logsumexp(rows, width, x, lse);
  for (Size row = 0; row < rows; ++row) loss[row] = lse[row] - x[row * width + labels[row]];
}

template <class T>
void cross_entropy_gradient(Size rows, Size width, const T* x, const std::int32_t* labels, const T* lse,
                            const T* dloss, T* dx) {
  logsumexp_gradient(rows, width, x, lse, dloss, dx);
  for (Size row = 0; row < rows; ++row) dx[row * width + labels[row]] -= dloss[row];
}

template <class T>
void layer_norm(Size rows, Size width, std::type_identity_t<T> epsilon, const T* x, const T* weight,
                const T* bias, T* y, T* mean, T* rstd) {
  for_rows(rows, width, [&](Size row, Size count) {
    table<T>().layer_norm(count, width, epsilon, x + row * width, weight, bias, y + row * width, mean + row,
                          rstd + row);
  });
}

template <class T>
void layer_norm_gradient(Size rows, Size width, const T* x, const T* mean, const T* rstd, const T* weight,
                         const T* dy, T* dx, T* dweight, T* dbias) {
  if (dx != nullptr)
    for_rows(rows, width, [&](Size row, Size count) {
      table<T>().layer_norm_gradient(count, width, x + row * width, mean + row, rstd + row, weight,
                                     dy + row * width, dx + row * width);
    });
  if (dweight == nullptr) return;
  // Sums of 64 rows each, then the sum of those.
  constexpr Size block = 64;
  const Size blocks = (rows + block - 1) / block;
  Scratch<T> scratch(2 * blocks * width);
  T* weights = scratch.data();
  T* biases = weights + blocks * width;
  parallel_for(blocks, std::max<Size>(1, 128 / std::max<Size>(1, width)), [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i) {
      const Size row = i * block;
      table<T>().layer_norm_sums(std::min(block, rows - row), width, x + row * width, mean + row, rstd + row,
                                 dy + row * width, weights + i * width, biases + i * width);
    }
  });
  reduce_sum<T>(1, blocks, width, weights, dweight);
  reduce_sum<T>(1, blocks, width, biases, dbias);
}

#define PENCIL_INSTANTIATE(T)                                                                                \
  template void softmax<T>(Size, Size, const std::int32_t*, const T*, T*);                                   \
  template void softmax_gradient<T>(Size, Size, const std::int32_t*, const T*, const T*, T*);                \
  template void log_softmax<T>(Size, Size, const T*, T*);                                                    \
  template void log_softmax_gradient<T>(Size, Size, const T*, const T*, T*);                                 \
  template void logsumexp<T>(Size, Size, const T*, T*);                                                      \
  template void logsumexp_gradient<T>(Size, Size, const T*, const T*, const T*, T*);                         \
  template void cross_entropy<T>(Size, Size, const T*, const std::int32_t*, T*, T*);                         \
  template void cross_entropy_gradient<T>(Size, Size, const T*, const std::int32_t*, const T*, const T*,     \
                                          T*);                                                               \
  template void layer_norm<T>(Size, Size, T, const T*, const T*, const T*, T*, T*, T*);                      \
  template void layer_norm_gradient<T>(Size, Size, const T*, const T*, const T*, const T*, const T*, T*, T*, \
                                       T*);
PENCIL_INSTANTIATE(float)
PENCIL_INSTANTIATE(double)
#undef PENCIL_INSTANTIATE

}  // namespace pencil::kernels
