#include "autograd/create.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace pencil {

double Rng::normal() {
  const double u = 1 - uniform();  // (0, 1]: the logarithm stays finite
  const double v = uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

namespace {

template <class T>
T narrowed(double value, const char* who) {
  if constexpr (std::is_same_v<T, std::int32_t>)
    if (!(value >= std::numeric_limits<std::int32_t>::min() &&
          value <= std::numeric_limits<std::int32_t>::max() && value == std::trunc(value)))
      fail("[{}] {} is no whole number that i32 holds", who, value);
  return static_cast<T>(value);
}

// A tensor whose i-th number is next(i).
template <class F>
Tensor filled(const Shape& shape, DType dtype, const char* who, F&& next) {
  Tensor out = empty(shape, dtype);
  dispatch(dtype, [&]<class T>(T) {
    std::int64_t i = 0;
    for (T& value : out.writable<T>()) value = narrowed<T>(next(i++), who);
  });
  return out;
}

// The largest T below `high`; `low` where there is none from it on.
template <class T>
double below(double low, double high) {
  auto top = static_cast<T>(high);
  if (static_cast<double>(top) >= high) top = std::nextafter(top, -std::numeric_limits<T>::infinity());
  return std::max(low, static_cast<double>(top));
}

template <class T>
Tensor copied(std::span<const T> numbers, const Shape& shape) {
  if (static_cast<std::int64_t>(numbers.size()) != shape.size())
    fail("[tensor] {} numbers were given for shape {}, which holds {}", numbers.size(), shape, shape.size());
  Tensor out = empty(shape, dtype_of<T>());
  std::ranges::copy(numbers, out.writable<T>().begin());
  return out;
}

}  // namespace

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }

Tensor full(const Shape& shape, double value, DType dtype) {
  Tensor out = empty(shape, dtype);
  dispatch(dtype, [&]<class T>(T) { std::ranges::fill(out.writable<T>(), narrowed<T>(value, "full")); });
  return out;
}

Tensor arange(double first, double end, double step, DType dtype) {
  if (!(std::isfinite(first) && std::isfinite(end) && std::isfinite(step)) || step == 0)
    fail("[arange] from {} to {} by {}: need finite numbers and a step other than 0", first, end, step);
  double count = std::max(0.0, std::ceil((end - first) / step));
  if (count > 0) {  // a quotient rounded up counts `end` itself
    const double last = first + (count - 1) * step;
    if (step > 0 ? last >= end : last <= end) --count;
  }
  if (count > 0x1p40) fail("[arange] from {} to {} by {} would be {} numbers", first, end, step, count);
  return filled({static_cast<std::int64_t>(count)}, dtype, "arange",
                [&](std::int64_t i) { return first + static_cast<double>(i) * step; });
}

Tensor arange(std::int64_t n, DType dtype) { return arange(0, static_cast<double>(n), 1, dtype); }

Tensor randn(const Shape& shape, Rng& rng, DType dtype) {
  if (!is_float(dtype)) fail("[randn] normal numbers need f32 or f64, not i32");
  return filled(shape, dtype, "randn", [&](std::int64_t) { return rng.normal(); });
}

Tensor uniform(const Shape& shape, double low, double high, Rng& rng, DType dtype) {
  if (!is_float(dtype)) fail("[uniform] uniform numbers need f32 or f64, not i32");
  if (!(low <= high) || !std::isfinite(high - low))
    fail("[uniform] from {} to {}: need finite numbers, the lower one first", low, high);
  // Rounded to the dtype, a number just below `high` can become it.
  const double top = dtype == f32 ? below<float>(low, high) : below<double>(low, high);
  return filled(shape, dtype, "uniform",
                [&](std::int64_t) { return std::min(low + (high - low) * rng.uniform(), top); });
}

Shape Nested::shape() const {
  if (!is_list_) return {};
  Shape inner;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Shape part = parts_[i].shape();
    if (i == 0) inner = part;
    if (part != inner)
      fail("[tensor] the braces are uneven: part {} has shape {}, part 0 has {}", i, part, inner);
  }
  return inner.inserted(0, static_cast<std::int64_t>(parts_.size()));
}

void Nested::append_to(std::vector<double>& numbers) const {
  if (!is_list_) numbers.push_back(number_);
  for (const Nested& part : parts_) part.append_to(numbers);
}

Tensor tensor(const Nested& numbers, DType dtype) {
  std::vector<double> flat;
  numbers.append_to(flat);
  return filled(numbers.shape(), dtype, "tensor",
                [&](std::int64_t i) { return flat[static_cast<std::size_t>(i)]; });
}

Tensor tensor(std::span<const float> numbers, const Shape& shape) { return copied(numbers, shape); }
Tensor tensor(std::span<const double> numbers, const Shape& shape) { return copied(numbers, shape); }
Tensor tensor(std::span<const std::int32_t> numbers, const Shape& shape) { return copied(numbers, shape); }

}  // namespace pencil
