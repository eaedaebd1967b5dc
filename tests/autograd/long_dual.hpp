// Numbers with a derivative in long double: what Scalars are checked against.
#pragma once

#include <cmath>
#include <vector>

namespace pencil::tests {

struct Dual {
  long double v = 0, d = 0;

  Dual() = default;
  Dual(double value) : v(value) {}  // NOLINT: a number is a Dual
  Dual(long double value, long double slope) : v(value), d(slope) {}
  friend bool operator<(const Dual& a, const Dual& b) { return a.v < b.v; }
};

inline Dual operator-(const Dual& a) { return {-a.v, -a.d}; }
inline Dual operator+(const Dual& a, const Dual& b) { return {a.v + b.v, a.d + b.d}; }
inline Dual operator-(const Dual& a, const Dual& b) { return {a.v - b.v, a.d - b.d}; }
inline Dual operator*(const Dual& a, const Dual& b) { return {a.v * b.v, a.d * b.v + a.v * b.d}; }
inline Dual operator/(const Dual& a, const Dual& b) {
  return {a.v / b.v, (a.d * b.v - a.v * b.d) / (b.v * b.v)};
}

inline Dual exp(const Dual& x) { return {std::exp(x.v), std::exp(x.v) * x.d}; }
inline Dual expm1(const Dual& x) { return {std::expm1(x.v), std::exp(x.v) * x.d}; }
inline Dual log(const Dual& x) { return {std::log(x.v), x.d / x.v}; }
inline Dual log1p(const Dual& x) { return {std::log1p(x.v), x.d / (1 + x.v)}; }
inline Dual sqrt(const Dual& x) { return {std::sqrt(x.v), x.d / (2 * std::sqrt(x.v))}; }
inline Dual sin(const Dual& x) { return {std::sin(x.v), std::cos(x.v) * x.d}; }
inline Dual cos(const Dual& x) { return {std::cos(x.v), -std::sin(x.v) * x.d}; }
inline Dual tan(const Dual& x) { return {std::tan(x.v), x.d / (std::cos(x.v) * std::cos(x.v))}; }
inline Dual asin(const Dual& x) { return {std::asin(x.v), x.d / std::sqrt(1 - x.v * x.v)}; }
inline Dual acos(const Dual& x) { return {std::acos(x.v), -x.d / std::sqrt(1 - x.v * x.v)}; }
inline Dual atan(const Dual& x) { return {std::atan(x.v), x.d / (1 + x.v * x.v)}; }
inline Dual sinh(const Dual& x) { return {std::sinh(x.v), std::cosh(x.v) * x.d}; }
inline Dual cosh(const Dual& x) { return {std::cosh(x.v), std::sinh(x.v) * x.d}; }
inline Dual tanh(const Dual& x) { return {std::tanh(x.v), x.d / (std::cosh(x.v) * std::cosh(x.v))}; }
inline Dual erf(const Dual& x) {
  return {std::erf(x.v), 2 / std::sqrt(std::acos(-1.0L)) * std::exp(-x.v * x.v) * x.d};
}
inline Dual abs(const Dual& x) { return x.v < 0 ? -x : x.v > 0 ? x : Dual(0.0L, 0.0L); }
inline Dual pow(const Dual& a, const Dual& b) { return exp(b * log(a)); }
inline Dual hypot(const Dual& a, const Dual& b) { return sqrt(a * a + b * b); }
inline Dual max(const Dual& a, const Dual& b) {
  return a.v > b.v ? a : b.v > a.v ? b : Dual(a.v, (a.d + b.d) / 2);
}
inline Dual min(const Dual& a, const Dual& b) { return -max(-a, -b); }
inline Dual select(bool condition, const Dual& a, const Dual& b) { return condition ? a : b; }

inline Dual sum(const std::vector<Dual>& x) {
  Dual total;
  for (const Dual& each : x) total = total + each;
  return total;
}
inline Dual mean(const std::vector<Dual>& x) { return sum(x) / static_cast<double>(x.size()); }
inline Dual dot(const std::vector<Dual>& x, const std::vector<Dual>& y) {
  Dual total;
  for (std::size_t i = 0; i < x.size(); ++i) total = total + x[i] * y[i];
  return total;
}
inline Dual log_sum_exp(const std::vector<Dual>& x) {
  Dual total;
  for (const Dual& each : x) total = total + exp(each);
  return log(total);
}

}  // namespace pencil::tests
