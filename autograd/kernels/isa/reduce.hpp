#pragma once

#include <cstdint>

#include "autograd/kernels/dispatch.hpp"

namespace pencil::kernels {

/// One way of joining many numbers into one, on the caller's thread. Rows are joined whole; a lane's numbers
/// are joined in an order that depends on its size only.
template <class T>
struct Fold {
  /// y (rows) = each row of x (rows, width) joined.
  void (*rows)(std::int64_t rows, std::int64_t width, const T* x, T* y);
  /// y (width) = each column of x joined; rows are `stride` numbers apart, rows ≥ 1.
  void (*columns)(std::int64_t rows, std::int64_t width, std::int64_t stride, const T* x, T* y);
};

template <class T>
struct FoldTable {
  Fold<T> sum;
  Fold<T> largest;  // NaN if there is one
  Fold<T> smallest;
};

template <class T, Isa>
const FoldTable<T>& fold_table();

}  // namespace pencil::kernels
