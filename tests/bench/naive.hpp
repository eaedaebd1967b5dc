// The parts of the training step in plain loops and double precision: what the kernels must agree with before
// they are timed. Gradients are for an upstream gradient dy.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pencil::bench::naive {

using Numbers = std::vector<double>;
using Size = std::size_t;

/// y (rows, out) = x (rows, in) wᵀ + b, w (out, in)
inline Numbers linear(Size rows, const Numbers& x, const Numbers& w, const Numbers& b) {
  const Size in = x.size() / rows, out = b.size();
  Numbers y(rows * out);
  for (Size r = 0; r < rows; ++r)
    for (Size o = 0; o < out; ++o) {
      y[r * out + o] = b[o];
      for (Size i = 0; i < in; ++i) y[r * out + o] += x[r * in + i] * w[o * in + i];
    }
  return y;
}

/// dx, dw, db
inline std::vector<Numbers> linear_gradient(Size rows, const Numbers& x, const Numbers& w,
                                            const Numbers& dy) {
  const Size in = x.size() / rows, out = dy.size() / rows;
  Numbers dx(x.size()), dw(w.size()), db(out);
  for (Size r = 0; r < rows; ++r)
    for (Size o = 0; o < out; ++o) {
      const double d = dy[r * out + o];
      db[o] += d;
      for (Size i = 0; i < in; ++i) {
        dx[r * in + i] += d * w[o * in + i];
        dw[o * in + i] += d * x[r * in + i];
      }
    }
  return {dx, dw, db};
}

inline Numbers softmax(Size rows, const Numbers& x) {
  const Size width = x.size() / rows;
  Numbers y(x.size());
  for (Size r = 0; r < rows; ++r) {
    double total = 0;
    for (Size i = 0; i < width; ++i) total += y[r * width + i] = std::exp(x[r * width + i]);
    for (Size i = 0; i < width; ++i) y[r * width + i] /= total;
  }
  return y;
}

inline Numbers softmax_gradient(Size rows, const Numbers& y, const Numbers& dy) {
  const Size width = y.size() / rows;
  Numbers dx(y.size());
  for (Size r = 0; r < rows; ++r) {
    double mean = 0;
    for (Size i = r * width; i < (r + 1) * width; ++i) mean += y[i] * dy[i];
    for (Size i = r * width; i < (r + 1) * width; ++i) dx[i] = y[i] * (dy[i] - mean);
  }
  return dx;
}

struct Attended {
  Numbers out, dq, dk, dv;
};

/// Attention of q, k, v (batch, length, heads · width) and its gradients for dout.
inline Attended attention(Size batch, Size length, Size heads, const Numbers& q, const Numbers& k,
                          const Numbers& v, const Numbers& dout) {
  const Size row = q.size() / batch / length, width = row / heads;
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  Attended a{Numbers(q.size()), Numbers(q.size()), Numbers(q.size()), Numbers(q.size())};
  for (Size b = 0; b < batch; ++b)
    for (Size h = 0; h < heads; ++h) {
      const auto at = [&](Size i) { return (b * length + i) * row + h * width; };
      const auto dot = [&](const Numbers& x, Size i, const Numbers& y, Size j) {
        double sum = 0;
        for (Size n = 0; n < width; ++n) sum += x[at(i) + n] * y[at(j) + n];
        return sum;
      };
      const auto add = [&](Numbers& y, Size i, double factor, const Numbers& x, Size j) {
        for (Size n = 0; n < width; ++n) y[at(i) + n] += factor * x[at(j) + n];
      };
      for (Size i = 0; i < length; ++i) {
        Numbers scores(length), dweights(length);
        for (Size j = 0; j < length; ++j) scores[j] = scale * dot(q, i, k, j);
        const Numbers weights = softmax(1, scores);
        for (Size j = 0; j < length; ++j) {
          add(a.out, i, weights[j], v, j);
          add(a.dv, j, weights[j], dout, i);
          dweights[j] = dot(dout, i, v, j);
        }
        const Numbers dscores = softmax_gradient(1, weights, dweights);
        for (Size j = 0; j < length; ++j) {
          add(a.dq, i, scale * dscores[j], k, j);
          add(a.dk, j, scale * dscores[j], q, i);
        }
      }
    }
  return a;
}

/// (x − mean) / √(variance + epsilon) · weight + bias over the last axis, of as many numbers as weight
inline Numbers layer_norm(const Numbers& x, const Numbers& weight, const Numbers& bias, double epsilon) {
  const Size width = weight.size();
  Numbers y(x.size());
  for (Size r = 0; r < x.size(); r += width) {
    double mean = 0, variance = 0;
    for (Size i = 0; i < width; ++i) mean += x[r + i] / static_cast<double>(width);
    for (Size i = 0; i < width; ++i)
      variance += (x[r + i] - mean) * (x[r + i] - mean) / static_cast<double>(width);
    for (Size i = 0; i < width; ++i)
      y[r + i] = (x[r + i] - mean) / std::sqrt(variance + epsilon) * weight[i] + bias[i];
  }
  return y;
}

/// dx, dweight, dbias
inline std::vector<Numbers> layer_norm_gradient(const Numbers& x, const Numbers& weight, double epsilon,
                                                const Numbers& dy) {
  const Size width = weight.size();
  const Numbers ones(width, 1), zeros(width, 0), normal = layer_norm(x, ones, zeros, epsilon);
  Numbers dx(x.size()), dweight(width), dbias(width);
  for (Size r = 0; r < x.size(); r += width) {
    double mean = 0, square = 0, g_mean = 0, g_normal = 0;
    for (Size i = 0; i < width; ++i) mean += x[r + i] / static_cast<double>(width);
    for (Size i = 0; i < width; ++i) {
      square += (x[r + i] - mean) * (x[r + i] - mean) / static_cast<double>(width);
      g_mean += dy[r + i] * weight[i] / static_cast<double>(width);
      g_normal += dy[r + i] * weight[i] * normal[r + i] / static_cast<double>(width);
      dweight[i] += dy[r + i] * normal[r + i];
      dbias[i] += dy[r + i];
    }
    for (Size i = 0; i < width; ++i)
      dx[r + i] = (dy[r + i] * weight[i] - g_mean - normal[r + i] * g_normal) / std::sqrt(square + epsilon);
  }
  return {dx, dweight, dbias};
}

/// The rows `ids` of table (…, width).
inline Numbers embedding(const Numbers& table, Size width, const std::vector<std::int32_t>& ids) {
  Numbers y;
  for (const std::int32_t id : ids)
    for (Size i = 0; i < width; ++i) y.push_back(table[static_cast<Size>(id) * width + i]);
  return y;
}

inline Numbers embedding_gradient(Size rows, Size width, const std::vector<std::int32_t>& ids,
                                  const Numbers& dy) {
  Numbers dtable(rows * width);
  for (Size n = 0; n < ids.size(); ++n)
    for (Size i = 0; i < width; ++i) dtable[static_cast<Size>(ids[n]) * width + i] += dy[n * width + i];
  return dtable;
}

/// The weights after Adam's first step, with Keras's numbers ("epsilon hat").
inline Numbers adam(const Numbers& w, const Numbers& g) {
  Numbers after(w.size());
  for (Size i = 0; i < w.size(); ++i) {
    const double m = (1 - 0.9) * g[i], v = (1 - 0.999) * g[i] * g[i];
    after[i] = w[i] - 1e-3 * std::sqrt(1 - 0.999) / (1 - 0.9) * m / (std::sqrt(v) + 1e-7);
  }
  return after;
}

}  // namespace pencil::bench::naive
