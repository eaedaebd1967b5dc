#pragma once

#include <cstdint>
#include <type_traits>

/// Kernels over the last axis: x is (rows, width). Widths and counts of 0 are allowed. For float and double.
namespace pencil::kernels {

/// y = exp(x − m) / Σ exp(x − m), m the largest x of the row. Without a mask as IEEE has it: a row of −∞ only
/// gives NaN. With one (int32, the shape of x, not 0 = counts) masked places are exactly 0 whatever x holds
/// there, and so is a row with no place left. `mask` may be null.
template <class T>
void softmax(std::int64_t rows, std::int64_t width, const std::int32_t* mask, const T* x, T* y);

/// dx = y (dy − Σ y dy); exactly 0 at masked places, where dy is not looked at.
template <class T>
void softmax_gradient(std::int64_t rows, std::int64_t width, const std::int32_t* mask, const T* y,
                      const T* dy, T* dx);

/// y = x − log Σ exp(x)
template <class T>
void log_softmax(std::int64_t rows, std::int64_t width, const T* x, T* y);

/// dx = dy − exp(y) Σ dy
template <class T>
void log_softmax_gradient(std::int64_t rows, std::int64_t width, const T* y, const T* dy, T* dx);

/// y (rows) = log Σ exp(x); −∞ for a row of −∞ only and for an empty one.
template <class T>
void logsumexp(std::int64_t rows, std::int64_t width, const T* x, T* y);

/// dx = exp(x − y) dy, y and dy (rows)
template <class T>
void logsumexp_gradient(std::int64_t rows, std::int64_t width, const T* x, const T* y, const T* dy, T* dx);

/// loss (rows) = log Σ exp(x) − x[label], and the first term, saved as lse (rows). Labels must lie in 0 …
/// width − 1.
template <class T>
void cross_entropy(std::int64_t rows, std::int64_t width, const T* x, const std::int32_t* labels, T* loss,
                   T* lse);

/// dx = (exp(x − lse) − [column = label]) dloss
template <class T>
void cross_entropy_gradient(std::int64_t rows, std::int64_t width, const T* x, const std::int32_t* labels,
                            const T* lse, const T* dloss, T* dx);

/// y = (x − mean) rstd weight + bias with rstd = 1 / sqrt(variance + epsilon), the variance over `width`
/// numbers (not width − 1). mean and rstd (rows) are saved; weight and bias (width) may be null.
template <class T>
void layer_norm(std::int64_t rows, std::int64_t width, std::type_identity_t<T> epsilon, const T* x,
                const T* weight, const T* bias, T* y, T* mean, T* rstd);

/// The gradients of layer_norm. dx may be null; so may dweight and dbias, both or neither.
template <class T>
void layer_norm_gradient(std::int64_t rows, std::int64_t width, const T* x, const T* mean, const T* rstd,
                         const T* weight, const T* dy, T* dx, T* dweight, T* dbias);

}  // namespace pencil::kernels
