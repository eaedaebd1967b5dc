#pragma once

#include <cstdint>

/// Sums, extremes and their like along one axis. Arrays are seen as (outer, axis, inner): the sizes before
/// the axis, its size, and the sizes after it. Long sums are added as sums of blocks, in an order fixed by
/// the sizes.
namespace pencil::kernels {

/// y (outer, inner) = the sum along the axis; 0 along an empty one.
template <class T>
void reduce_sum(std::int64_t outer, std::int64_t axis, std::int64_t inner, const T* x, T* y);

/// y (outer, inner) = the mean along the axis; 0 along an empty one.
template <class T>
void reduce_mean(std::int64_t outer, std::int64_t axis, std::int64_t inner, const T* x, T* y);

/// y (outer, inner) = the largest, the smallest along the axis, which is not empty; NaN where there is one.
template <class T>
void reduce_max(std::int64_t outer, std::int64_t axis, std::int64_t inner, const T* x, T* y);
template <class T>
void reduce_min(std::int64_t outer, std::int64_t axis, std::int64_t inner, const T* x, T* y);

/// What part each number has in an extreme y (outer, inner) of x: share (outer, axis, inner) = 1 / count
/// where x equals y, count being how many do along the axis, and 0 elsewhere. NaN counts as equal to NaN.
template <class T>
void equal_shares(std::int64_t outer, std::int64_t axis, std::int64_t inner, const T* x, const T* y,
                  T* share);

/// y (outer, inner) = the index of the first largest, smallest number along the axis, which is not empty; of
/// the first NaN if there is one.
template <class T>
void argmax(std::int64_t outer, std::int64_t axis, std::int64_t inner, const T* x, std::int32_t* y);
template <class T>
void argmin(std::int64_t outer, std::int64_t axis, std::int64_t inner, const T* x, std::int32_t* y);

/// y[o, a, i] = x[o, 0, i] + … + x[o, a, i]; from the end if `reverse` (the gradient of the other).
template <class T>
void cumulative_sum(std::int64_t outer, std::int64_t axis, std::int64_t inner, bool reverse, const T* x,
                    T* y);

/// Undoes a broadcast: y (to) = x (from) summed along the axes where `to` is 1 and `from` is not. Both have
/// `rank` axes, matched one by one, at most 8.
template <class T>
void sum_to(int rank, const std::int64_t* from, const std::int64_t* to, const T* x, T* y);

}  // namespace pencil::kernels
