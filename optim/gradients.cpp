#include "optim/gradients.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <unordered_map>

#include "autograd/kernels/threads.hpp"
#include "autograd/ops/support.hpp"

namespace pencil::optim {

namespace {

constexpr std::int64_t grain = 1 << 15;

/// Σ (x scale)², in double: eight sums side by side within a piece, pieces in their order.
template <class T>
double sum_of_squares(std::span<const T> x, double scale) {
  const auto n = static_cast<std::int64_t>(x.size());
  std::vector<double> pieces(static_cast<std::size_t>((n + grain - 1) / grain));
  kernels::parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    std::array<double, 8> sums{};
    std::int64_t i = begin;
    for (; i + 8 <= end; i += 8)
      for (std::int64_t lane = 0; lane < 8; ++lane) {
        const double value = static_cast<double>(x[static_cast<std::size_t>(i + lane)]) * scale;
        sums[static_cast<std::size_t>(lane)] += value * value;
      }
    double sum = 0;
    for (; i < end; ++i) {
      const double value = static_cast<double>(x[static_cast<std::size_t>(i)]) * scale;
      sum += value * value;
    }
    for (const double each : sums) sum += each;
    pieces[static_cast<std::size_t>(begin / grain)] = sum;
  });
  double sum = 0;
  for (const double piece : pieces) sum += piece;
  return sum;
}

template <class T>
double norm_of(std::span<const T> x) {
  const double sum = sum_of_squares<T>(x, 1);
  if (sum > 1e-250 && sum < 1e300) return std::sqrt(sum);
  double largest = 0;
  for (const T value : x) {
    if (!std::isfinite(value)) return std::abs(static_cast<double>(value));
    largest = std::max(largest, std::abs(static_cast<double>(value)));
  }
  if (largest == 0) return 0;
  int exponent = 0;  // a power of two scales without rounding
  std::frexp(largest, &exponent);
  exponent = std::clamp(exponent, -1000, 1000);
  return std::ldexp(std::sqrt(sum_of_squares<T>(x, std::ldexp(1, -exponent))), exponent);
}

struct Holders {
  std::mutex lock;
  std::unordered_map<const void*, int> count;
};

Holders& holders() {
  static Holders* const all = new Holders;  // outlives optimizers that are static
  return *all;
}

}  // namespace

void zero_grad(std::span<const Tensor> parameters) {
  for (const Tensor& parameter : parameters) parameter.clear_grad();
}

double clip_norm(std::span<const Tensor> parameters, double most) {
  if (!(most > 0)) fail("[clip_norm] the largest norm allowed is {}; need a number above 0", most);
  std::vector<const Tensor*> found;
  std::vector<double> norms;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].has_grad()) {
      found.push_back(&parameters[i]);
      norms.push_back(
          detail::finite_norm("clip_norm", parameters[i].grad(), detail::label(parameters[i], i)));
    }
  const double norm = detail::joined(norms);
  if (norm <= most) return norm;
  std::vector<Tensor> clipped;
  for (const Tensor* parameter : found) {
    const Tensor gradient = parameter->grad();
    Tensor scaled = empty(gradient.shape(), gradient.dtype());
    dispatch_float(gradient.dtype(), [&]<class T>(T) {
      const auto from = gradient.values<T>();
      const auto to = scaled.writable<T>();
      const T factor = static_cast<T>(most / norm);
      for (std::size_t i = 0; i < from.size(); ++i) to[i] = from[i] * factor;
    });
    clipped.push_back(std::move(scaled));
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i]->clear_grad();
    found[i]->add_grad(clipped[i]);
  }
  return norm;
}

namespace detail {

std::string label(const Tensor& parameter, std::size_t place) {
  return parameter.name().empty() ? fmt::format("parameter {}", place) : parameter.name();
}

double norm(const Tensor& x) {
  return dispatch_float(x.dtype(), [&]<class T>(T) { return norm_of(x.values<T>()); });
}

double finite_norm(const char* who, const Tensor& gradient, const std::string& name) {
  const double result = norm(gradient);
  if (std::isfinite(result)) return result;
  return dispatch_float(gradient.dtype(), [&]<class T>(T) -> double {
    const auto values = gradient.values<T>();
    const auto bad =
        std::find_if(values.begin(), values.end(), [](T value) { return !std::isfinite(value); });
    if (bad == values.end()) return result;  // finite numbers whose norm no double can hold
    fail("[{}] the gradient of '{}' is {} at position {}; nothing was changed", who, name, *bad,
         index_text(gradient.shape(), bad - values.begin()));
  });
}

double joined(std::span<const double> norms) {
  double all = 0;
  for (const double each : norms) all = std::hypot(all, each);
  return all;
}

Held::Held(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {
  const std::lock_guard guard(holders().lock);
  for (const Tensor& each : parameters_) ++holders().count[pencil::detail::Body::of(each)];
}

Held::~Held() {
  const std::lock_guard guard(holders().lock);
  for (const Tensor& each : parameters_)
    if (const auto found = holders().count.find(pencil::detail::Body::of(each)); --found->second == 0)
      holders().count.erase(found);
}

bool Held::any(const Tensor& parameter) {
  const std::lock_guard guard(holders().lock);
  return holders().count.contains(pencil::detail::Body::of(parameter));
}

}  // namespace detail

}  // namespace pencil::optim
