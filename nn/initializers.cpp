#include "nn/initializers.hpp"

#include <cmath>

namespace pencil::nn {

Fans projection_fans(std::int64_t width, std::int64_t heads, std::int64_t key_width, Init rule) {
  // As a convolution: `width` positions of (heads → key_width).
  if (rule == Init::keras_legacy) return {width * heads, width * key_width};
  return {width, heads * key_width};
}

Fans output_fans(std::int64_t heads, std::int64_t key_width, std::int64_t width, Init rule) {
  // As a convolution: `heads` positions of (key_width → width).
  if (rule == Init::keras_legacy) return {heads * key_width, heads * width};
  return {heads * key_width, width};
}

Tensor glorot_uniform(const Shape& shape, Fans fans, Rng& rng, DType dtype) {
  const double limit = std::sqrt(6.0 / static_cast<double>(fans.in + fans.out));
  return uniform(shape, -limit, limit, rng, dtype);
}

}  // namespace pencil::nn
