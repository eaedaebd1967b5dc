#pragma once

#include <cstdint>

/// Copies that rearrange row-major arrays. All are defined for float, double and std::int32_t; ranks go up to
/// 8, and any size may be 0. Inputs and outputs must not overlap.
namespace pencil::kernels {

/// How an array is walked: numbers of each axis and the distance between neighbours along it, in numbers (0
/// repeats, negative walks backwards).
struct Strided {
  static constexpr int most = 8;
  int rank = 0;
  std::int64_t size[most] = {};
  std::int64_t stride[most] = {};
};

/// y, contiguous, = the numbers of x in the order in which `from` walks them.
template <class T>
void read_strided(const Strided& from, const T* x, T* y);

/// The opposite: the numbers of x, contiguous, go where `to` walks in y; the rest of y stays. `to` must not
/// come to a place twice.
template <class T>
void write_strided(const Strided& to, const T* x, T* y);

/// Axis i of y is axis axes[i] of x; `size` are the sizes of x. Its own gradient with the inverse order of
/// axes.
template <class T>
void permute(int rank, const std::int64_t* size, const int* axes, const T* x, T* y);

/// y (size) = x (from) with each axis of size 1 repeated; both have `rank` axes, matched one by one.
template <class T>
void broadcast_to(int rank, const std::int64_t* from, const std::int64_t* size, const T* x, T* y);

/// The indices start, start + step, …, `count` of them, of one axis; step may be negative.
struct Range {
  std::int64_t start = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

/// y = x[ranges[0], ranges[1], …]; `size` are the sizes of x. All indices must lie inside.
template <class T>
void slice(int rank, const std::int64_t* size, const Range* ranges, const T* x, T* y);

/// The gradient of slice: dx is dy at the places of the slice and 0 elsewhere.
template <class T>
void slice_gradient(int rank, const std::int64_t* size, const Range* ranges, const T* dy, T* dx);

/// y (outer, sum of widths) = the parts (outer, widths[i]) side by side. To join along an axis, outer is the
/// product of the sizes before it and a width the size of a part's axis times the sizes after it.
template <class T>
void concat(std::int64_t outer, int count, const T* const* parts, const std::int64_t* widths, T* y);

/// The opposite of concat; a part that is null is left out.
template <class T>
void split(std::int64_t outer, int count, const T* x, const std::int64_t* widths, T* const* parts);

}  // namespace pencil::kernels
