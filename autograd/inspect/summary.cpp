#include "autograd/inspect/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pencil::inspect {

Summary summary_of(const Tensor& x) {
  Summary s;
  double least = std::numeric_limits<double>::infinity(), largest = -least, sum = 0;
  dispatch(x.dtype(), [&]<class T>(T) {
    for (const T value : x.values<T>()) {
      const auto number = static_cast<double>(value);
      if (std::isfinite(number)) {
        least = std::min(least, number);
        largest = std::max(largest, number);
        sum += number;
        ++s.finite;
      } else if (std::isnan(number)) {
        ++s.nan;
      } else {
        ++s.inf;
      }
    }
  });
  if (s.finite > 0) {
    s.least = least;
    s.mean = sum / static_cast<double>(s.finite);
    s.largest = largest;
  }
  return s;
}

}  // namespace pencil::inspect
