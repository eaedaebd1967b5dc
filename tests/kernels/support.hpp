#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "autograd/kernels/threads.hpp"
#include "tests/catch.hpp"

namespace support {

using Size = std::int64_t;

/// Sets the number of threads for one test and puts the old one back.
struct WithThreads {
  explicit WithThreads(int n) : before(pencil::kernels::threads()) { pencil::kernels::set_threads(n); }
  ~WithThreads() { pencil::kernels::set_threads(before); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;
  int before;
};

template <class T>
std::vector<T> filled(Size count, T value) {
  return std::vector<T>(static_cast<std::size_t>(count), value);
}

/// Normally distributed numbers, the same for the same seed.
template <class T>
std::vector<T> random_numbers(Size count, unsigned seed, double spread = 1) {
  std::mt19937 engine(seed);
  std::normal_distribution<double> normal(0, spread);
  std::vector<T> numbers(static_cast<std::size_t>(count));
  for (T& x : numbers) x = static_cast<T>(normal(engine));
  return numbers;
}

/// Whole numbers from 0 to below `end`.
inline std::vector<std::int32_t> random_ids(Size count, std::int32_t end, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_int_distribution<std::int32_t> uniform(0, end - 1);
  std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
  for (std::int32_t& id : ids) id = uniform(engine);
  return ids;
}

/// The largest |a − b| over the largest |b| (at least 1e-30); infinite where one is NaN and the other is not.
template <class T, class U>
double distance(const std::vector<T>& a, const std::vector<U>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 1e-30, worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double x = static_cast<double>(a[i]), y = static_cast<double>(b[i]);
    if (x == y || (std::isnan(x) && std::isnan(y))) {
      if (std::isfinite(y)) largest = std::max(largest, std::abs(y));
      continue;
    }
    if (!std::isfinite(x) || !std::isfinite(y)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, std::abs(y));
    worst = std::max(worst, std::abs(x - y));
  }
  return worst / largest;
}

/// What a kernel in T may be off by, relative to the largest number of the result.
template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-14;

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace support
