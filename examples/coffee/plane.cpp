// Principal components by LAPACKE.

#include <lapacke.h>

#include <algorithm>
#include <cmath>

#include "autograd/error.hpp"
#include "examples/coffee/notes.hpp"

namespace pencil::coffee {

std::vector<double> plane_points(std::span<const double> table, std::int64_t n) {
  if (n < 2 || static_cast<std::int64_t>(table.size()) != n * n)
    fail("[plane] needs a square table of two rows or more; got {} numbers for {} rows", table.size(), n);
  const auto size = static_cast<std::size_t>(n);
  std::vector<double> centred(table.begin(), table.end());
  for (std::size_t column = 0; column < size; ++column) {
    double mean = 0;
    for (std::size_t row = 0; row < size; ++row) mean += centred[row * size + column];
    mean /= static_cast<double>(n);
    for (std::size_t row = 0; row < size; ++row) centred[row * size + column] -= mean;
  }

  // centred = U diag(s) Vᵀ; the points are the first two columns of U diag(s).
  const auto order = static_cast<lapack_int>(n);
  std::vector<double> s(size), u(size * size), vt(size * size);
  const lapack_int failed = LAPACKE_dgesdd(LAPACK_ROW_MAJOR, 'S', order, order, centred.data(), order,
                                           s.data(), u.data(), order, vt.data(), order);
  if (failed != 0) fail("[plane] the singular value decomposition failed (LAPACK says {})", failed);

  std::vector<double> points(2 * size);
  for (std::size_t component = 0; component < 2; ++component) {
    double farthest = 0;
    for (std::size_t row = 0; row < size; ++row) {
      const double x = u[row * size + component] * s[component];
      points[2 * row + component] = x;
      // Equally far points must not be told apart by rounding: the first of them decides.
      if (std::abs(x) > std::abs(farthest) * (1 + 1e-9)) farthest = x;
    }
    if (farthest < 0)
      for (std::size_t row = 0; row < size; ++row) points[2 * row + component] *= -1;
  }
  return points;
}

}  // namespace pencil::coffee
