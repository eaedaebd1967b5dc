#pragma once

#include <cstdint>

#include "autograd/kernels/dispatch.hpp"

namespace pencil::kernels {

/// The kernels of rows.hpp for some rows on the caller's thread; see there for what they compute.
template <class T>
struct RowTable {
  void (*softmax)(std::int64_t rows, std::int64_t width, const std::int32_t* mask, const T* x, T* y);
  void (*softmax_gradient)(std::int64_t rows, std::int64_t width, const std::int32_t* mask, const T* y,
                           const T* dy, T* dx);
  void (*log_softmax)(std::int64_t rows, std::int64_t width, const T* x, T* y);
  void (*log_softmax_gradient)(std::int64_t rows, std::int64_t width, const T* y, const T* dy, T* dx);
  void (*logsumexp)(std::int64_t rows, std::int64_t width, const T* x, T* y);
  void (*logsumexp_gradient)(std::int64_t rows, std::int64_t width, const T* x, const T* y, const T* dy,
                             T* dx);
  void (*layer_norm)(std::int64_t rows, std::int64_t width, T epsilon, const T* x, const T* weight,
                     const T* bias, T* y, T* mean, T* rstd);
  void (*layer_norm_gradient)(std::int64_t rows, std::int64_t width, const T* x, const T* mean, const T* rstd,
                              const T* weight, const T* dy, T* dx);
  /// dweight, dbias (width): the sums over these rows only.
  void (*layer_norm_sums)(std::int64_t rows, std::int64_t width, const T* x, const T* mean, const T* rstd,
                          const T* dy, T* dweight, T* dbias);
};

template <class T, Isa>
const RowTable<T>& row_table();

}  // namespace pencil::kernels
