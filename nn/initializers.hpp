#pragma once

#include "autograd/create.hpp"

namespace pencil::nn {

/// How many numbers feed one output number of a kernel, and how many outputs one input number feeds.
struct Fans {
  std::int64_t in, out;
};

/// By which rule Keras counts the fans of the 3-D kernels of attention: `keras` since version 3.15, (in) ×
/// (heads · width); `keras_legacy` before it, where they were counted as convolutions.
enum class Init { keras, keras_legacy };

/// Fans of attention's kernel (width, heads, key width) for query, key and value.
Fans projection_fans(std::int64_t width, std::int64_t heads, std::int64_t key_width, Init rule);
/// Fans of attention's output kernel (heads, key width, width).
Fans output_fans(std::int64_t heads, std::int64_t key_width, std::int64_t width, Init rule);

/// Uniform in ±√(6 / (fans.in + fans.out)) (Glorot and Bengio, 2010).
Tensor glorot_uniform(const Shape& shape, Fans fans, Rng& rng, DType dtype = f32);

}  // namespace pencil::nn
