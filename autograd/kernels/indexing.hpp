#pragma once

#include <cstdint>

/// Reading and adding by number, and casts. Numbers (ids) are int32 and must lie in range: find_outside says
/// where one does not.
namespace pencil::kernels {

/// The position of the first id that is below 0 or not below `end`; −1 where all are inside.
std::int64_t find_outside(const std::int32_t* ids, std::int64_t n, std::int64_t end);

/// y (n, width) = the rows `ids` of table (any number of rows, width).
template <class T>
void gather_rows(const T* table, const std::int32_t* ids, std::int64_t n, std::int64_t width, T* y);

/// The gradient of gather_rows: every row of dtable (rows, width) = the sum of the rows of dy (n, width) with
/// its id, in order of position; 0 for rows that do not occur, and for row `skip` (−1 skips none).
template <class T>
void scatter_add_rows(const T* dy, const std::int32_t* ids, std::int64_t n, std::int64_t width,
                      std::int64_t rows, T* dtable, std::int64_t skip = -1);

/// y (outer, taken, inner) = x (outer, axis, inner) at [o, ids[o, t, i], i]; ids has the shape of y.
template <class T>
void take_along_axis(std::int64_t outer, std::int64_t axis, std::int64_t inner, std::int64_t taken,
                     const T* x, const std::int32_t* ids, T* y);

/// The gradient of take_along_axis: dx (outer, axis, inner), where places taken several times add up.
template <class T>
void take_along_axis_gradient(std::int64_t outer, std::int64_t axis, std::int64_t inner, std::int64_t taken,
                              const T* dy, const std::int32_t* ids, T* dx);

/// y (n, classes): 1 at [i, ids[i]], 0 elsewhere. For float, double and int32.
template <class T>
void one_hot(const std::int32_t* ids, std::int64_t n, std::int64_t classes, T* y);

/// y = x in another type: between float and double (rounded; beyond float's range infinite), and from int32.
template <class To, class From>
void cast(const From* x, std::int64_t n, To* y);

/// y = x without its fraction. Returns the position of the first x that is NaN or that int32 does not hold,
/// where y is 0; −1 where there is none.
template <class From>
std::int64_t cast_to_int(const From* x, std::int64_t n, std::int32_t* y);

/// y (batch, width) = the mean over the positions of x (batch, length, width) with mask (batch, length) not
/// 0; zeros where there is none. What stands at other positions, NaN included, has no influence.
template <class T>
void masked_mean(std::int64_t batch, std::int64_t length, std::int64_t width, const T* x,
                 const std::int32_t* mask, T* y);

/// Its gradient: dx (batch, length, width) = dy / count at the positions that counted, 0 elsewhere.
template <class T>
void masked_mean_gradient(std::int64_t batch, std::int64_t length, std::int64_t width, const T* dy,
                          const std::int32_t* mask, T* dx);

}  // namespace pencil::kernels
