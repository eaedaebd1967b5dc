#pragma once

// Functions on which engines for scalar derivatives are compared, generic in their number, each with its
// gradient written by hand: the floor.

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace workloads {

/// A small generator (xorshift, 13 7 17): numbers in [0, 1), and normal ones.
class Generator {
 public:
  double uniform() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) * (1.0 / 9007199254740992.0);
  }
  double normal() {
    const double a = uniform(), b = uniform();
    return std::sqrt(-2 * std::log(a + 1e-300)) * std::cos(6.283185307179586 * b);
  }

 private:
  std::uint64_t state_ = 88172645463325252u;
};

/// Speelpenning's product of 1,000 numbers.
struct Product {
  static constexpr const char* name = "product";
  static constexpr std::size_t n = 1000;
  std::vector<double> start;

  Product() {
    Generator g;
    for (std::size_t i = 0; i < n; ++i) start.push_back(0.98 + 0.04 * g.uniform());
  }

  template <class T>
  T operator()(const T* x) const {
    T p = x[0];
    for (std::size_t i = 1; i < n; ++i) p = p * x[i];
    return p;
  }

  void gradient(const double* x, double* dx) const {
    std::array<double, n> before;
    double p = 1;
    for (std::size_t i = 0; i < n; ++i) {
      before[i] = p;
      p *= x[i];
    }
    double behind = 1;
    for (std::size_t i = n; i-- > 0;) {
      dx[i] = before[i] * behind;
      behind *= x[i];
    }
  }
};

/// micrograd's demo: an MLP 2-16-16-1 with tanh, squared error over 100 points, and a penalty on all weights.
struct Mlp {
  static constexpr const char* name = "MLP";
  static constexpr std::size_t inputs = 2, width = 16, points = 100, parameters = 337;
  std::vector<double> start, x_data, y_data;

  Mlp() {
    Generator g;
    for (std::size_t i = 0; i < parameters; ++i) start.push_back(0.5 * g.normal() / (i < 48 ? 1.4 : 4.0));
    for (std::size_t i = 0; i < points; ++i) {
      const double t = 3.141592653589793 * g.uniform();
      const bool up = i % 2 == 1;
      const double a = up ? 1 - std::cos(t) : std::cos(t), b = up ? 0.5 - std::sin(t) : std::sin(t);
      x_data.push_back(a + 0.1 * g.normal());
      x_data.push_back(b + 0.1 * g.normal());
      y_data.push_back(up ? 1 : -1);
    }
  }

  template <class T>
  T operator()(const T* p) const {
    using std::tanh;
    const T *w1 = p, *b1 = p + 32, *w2 = b1 + 16, *b2 = w2 + 256, *w3 = b2 + 16, *b3 = w3 + 16;
    std::array<T, width> h1, h2;
    T loss = 0.0;
    for (std::size_t k = 0; k < points; ++k) {
      for (std::size_t j = 0; j < width; ++j) {
        T a = b1[j];
        for (std::size_t i = 0; i < inputs; ++i) a += w1[j * inputs + i] * x_data[k * inputs + i];
        h1[j] = tanh(a);
      }
      for (std::size_t j = 0; j < width; ++j) {
        T a = b2[j];
        for (std::size_t i = 0; i < width; ++i) a += w2[j * width + i] * h1[i];
        h2[j] = tanh(a);
      }
      T s = b3[0];
      for (std::size_t i = 0; i < width; ++i) s += w3[i] * h2[i];
      T d = s - y_data[k];
      loss += d * d;
    }
    T penalty = 0.0;
    for (std::size_t i = 0; i < parameters; ++i) penalty += p[i] * p[i];
    T out = loss * (1.0 / points) + penalty * 1e-4;
    return out;
  }

  void gradient(const double* p, double* dp) const {
    const double *w1 = p, *b1 = p + 32, *w2 = b1 + 16, *b2 = w2 + 256, *w3 = b2 + 16, *b3 = w3 + 16;
    double *dw1 = dp, *db1 = dp + 32, *dw2 = db1 + 16, *db2 = dw2 + 256, *dw3 = db2 + 16, *db3 = dw3 + 16;
    for (std::size_t i = 0; i < parameters; ++i) dp[i] = 2e-4 * p[i];
    std::array<double, width> h1, h2, da;
    for (std::size_t k = 0; k < points; ++k) {
      const double* x = x_data.data() + k * inputs;
      for (std::size_t j = 0; j < width; ++j)
        h1[j] = std::tanh(b1[j] + w1[j * inputs] * x[0] + w1[j * inputs + 1] * x[1]);
      for (std::size_t j = 0; j < width; ++j) {
        double a = b2[j];
        for (std::size_t i = 0; i < width; ++i) a += w2[j * width + i] * h1[i];
        h2[j] = std::tanh(a);
      }
      double s = b3[0];
      for (std::size_t i = 0; i < width; ++i) s += w3[i] * h2[i];
      const double ds = 2 * (s - y_data[k]) / points;
      db3[0] += ds;
      std::array<double, width> dh1{};
      for (std::size_t j = 0; j < width; ++j) {
        dw3[j] += ds * h2[j];
        da[j] = ds * w3[j] * (1 - h2[j] * h2[j]);
        db2[j] += da[j];
        for (std::size_t i = 0; i < width; ++i) {
          dw2[j * width + i] += da[j] * h1[i];
          dh1[i] += da[j] * w2[j * width + i];
        }
      }
      for (std::size_t j = 0; j < width; ++j) {
        const double d = dh1[j] * (1 - h1[j] * h1[j]);
        db1[j] += d;
        dw1[j * inputs] += d * x[0];
        dw1[j * inputs + 1] += d * x[1];
      }
    }
  }
};

/// Rosenbrock's sum over 10,000 numbers.
struct Rosenbrock {
  static constexpr const char* name = "Rosenbrock";
  static constexpr std::size_t n = 10000;
  std::vector<double> start;

  Rosenbrock() {
    Generator g;
    for (std::size_t i = 0; i < n; ++i) start.push_back(-1.5 + 3 * g.uniform());
  }

  template <class T>
  T operator()(const T* x) const {
    T f = 0.0;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      T a = x[i + 1] - x[i] * x[i];
      T b = 1.0 - x[i];
      f += 100.0 * a * a + b * b;
    }
    return f;
  }

  void gradient(const double* x, double* dx) const {
    dx[0] = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      const double a = x[i + 1] - x[i] * x[i];
      dx[i] += -400 * a * x[i] - 2 * (1 - x[i]);
      dx[i + 1] = 200 * a;
    }
  }
};

/// Cross-entropy of one of 1,000 classes, shifted by the largest number (which has no derivative).
struct LogSumExp {
  static constexpr const char* name = "log-sum-exp";
  static constexpr std::size_t n = 1000, target = 17;
  std::vector<double> start;
  double largest = -1e300;

  LogSumExp() {
    Generator g;
    for (std::size_t i = 0; i < n; ++i) {
      start.push_back(3 * g.normal());
      if (start[i] > largest) largest = start[i];
    }
  }

  template <class T>
  T operator()(const T* x) const {
    using std::exp;
    using std::log;
    T s = 0.0;
    for (std::size_t i = 0; i < n; ++i) s += exp(x[i] - largest);
    T out = log(s) + largest - x[target];
    return out;
  }

  void gradient(const double* x, double* dx) const {
    double s = 0;
    for (std::size_t i = 0; i < n; ++i) {
      dx[i] = std::exp(x[i] - largest);
      s += dx[i];
    }
    for (std::size_t i = 0; i < n; ++i) dx[i] /= s;
    dx[target] -= 1;
  }
};

/// One head of attention over 8 words of width 4, number by number; the sum of squares of its output.
struct Attention {
  static constexpr const char* name = "attention";
  static constexpr std::size_t words = 8, width = 4;
  std::vector<double> start;

  Attention() {
    Generator g;
    for (std::size_t i = 0; i < words * width + 3 * width * width; ++i) start.push_back(0.5 * g.normal());
  }

  template <class T>
  static void project(const T* e, const T* w, T* q) {
    for (std::size_t i = 0; i < words; ++i)
      for (std::size_t c = 0; c < width; ++c) {
        T s = e[i * width] * w[c];
        for (std::size_t k = 1; k < width; ++k) s += e[i * width + k] * w[k * width + c];
        q[i * width + c] = s;
      }
  }

  template <class T>
  T operator()(const T* x) const {
    using std::exp;
    const T *e = x, *wq = x + words * width, *wk = wq + width * width, *wv = wk + width * width;
    std::array<T, words * width> q, k, v;
    std::array<T, words> p;
    project(e, wq, q.data());
    project(e, wk, k.data());
    project(e, wv, v.data());
    T out = 0.0;
    for (std::size_t i = 0; i < words; ++i) {
      T z = 0.0;
      for (std::size_t j = 0; j < words; ++j) {
        T s = q[i * width] * k[j * width];
        for (std::size_t c = 1; c < width; ++c) s += q[i * width + c] * k[j * width + c];
        p[j] = exp(s * 0.5);
        z += p[j];
      }
      for (std::size_t j = 0; j < words; ++j) p[j] = p[j] / z;
      for (std::size_t c = 0; c < width; ++c) {
        T o = p[0] * v[c];
        for (std::size_t j = 1; j < words; ++j) o += p[j] * v[j * width + c];
        out += o * o;
      }
    }
    return out;
  }

  static void project_back(const double* e, const double* w, const double* dq, double* de, double* dw) {
    for (std::size_t i = 0; i < words; ++i)
      for (std::size_t c = 0; c < width; ++c)
        for (std::size_t k = 0; k < width; ++k) {
          de[i * width + k] += dq[i * width + c] * w[k * width + c];
          dw[k * width + c] += dq[i * width + c] * e[i * width + k];
        }
  }

  void gradient(const double* x, double* dx) const {
    const double *e = x, *wq = x + words * width, *wk = wq + width * width, *wv = wk + width * width;
    std::array<double, words * width> q, k, v, dq{}, dk{}, dv{};
    std::array<double, words> p, dp;
    project(e, wq, q.data());
    project(e, wk, k.data());
    project(e, wv, v.data());
    for (std::size_t i = 0; i < words; ++i) {
      double z = 0;
      for (std::size_t j = 0; j < words; ++j) {
        double s = 0;
        for (std::size_t c = 0; c < width; ++c) s += q[i * width + c] * k[j * width + c];
        p[j] = std::exp(s * 0.5);
        z += p[j];
      }
      dp = {};
      for (std::size_t j = 0; j < words; ++j) p[j] /= z;
      for (std::size_t c = 0; c < width; ++c) {
        double o = 0;
        for (std::size_t j = 0; j < words; ++j) o += p[j] * v[j * width + c];
        for (std::size_t j = 0; j < words; ++j) {
          dp[j] += 2 * o * v[j * width + c];
          dv[j * width + c] += 2 * o * p[j];
        }
      }
      double mean = 0;
      for (std::size_t j = 0; j < words; ++j) mean += dp[j] * p[j];
      for (std::size_t j = 0; j < words; ++j) {
        const double ds = 0.5 * p[j] * (dp[j] - mean);
        for (std::size_t c = 0; c < width; ++c) {
          dq[i * width + c] += ds * k[j * width + c];
          dk[j * width + c] += ds * q[i * width + c];
        }
      }
    }
    for (std::size_t i = 0; i < start.size(); ++i) dx[i] = 0;
    double* const dw = dx + words * width;
    project_back(e, wq, dq.data(), dx, dw);
    project_back(e, wk, dk.data(), dx, dw + width * width);
    project_back(e, wv, dv.data(), dx, dw + 2 * width * width);
  }
};

/// A long chain x ← sin(x) a + b: 3 operations a turn.
struct Chain {
  std::size_t turns;

  template <class T>
  T operator()(const T* in) const {
    using std::sin;
    T x = in[0];
    for (std::size_t i = 0; i < turns; ++i) x = sin(x) * in[1] + in[2];
    return x;
  }
};

}  // namespace workloads
