#include "tests/bench/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <set>

#include "autograd/kernels/blas.hpp"
#include "autograd/kernels/threads.hpp"

namespace pencil::bench {
namespace {

/// Sets the number of threads for a scope.
struct WithThreads {
  explicit WithThreads(int n) : before(kernels::threads()) { kernels::set_threads(n); }
  ~WithThreads() { kernels::set_threads(before); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;
  int before;
};

template <class F>
double best_of(int rounds, F&& f) {
  f();
  double best = seconds_of(f);
  for (int i = 1; i < rounds; ++i) best = std::min(best, seconds_of(f));
  return best;
}

double rate_for(const Cost& cost, int threads) {
  return cost.flop > 0 ? product_rate(threads) : copy_rate(static_cast<std::int64_t>(cost.bytes), threads);
}

}  // namespace

double median(std::vector<double> numbers) {
  if (numbers.empty()) return 0;
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::nth_element(numbers.begin(), middle, numbers.end());
  return *middle;
}

double product_rate(int threads) {
  constexpr std::int64_t n = 1024;
  const WithThreads with(threads);
  const std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f);
  std::vector<float> c(n * n);
  const auto product = [&] {
    kernels::parallel_for(n, (n + threads - 1) / threads, [&](std::int64_t begin, std::int64_t end) {
      kernels::gemm_here<float>(false, false, end - begin, n, n, 1, a.data() + begin * n, n, b.data(), n, 0,
                                c.data() + begin * n, n);
    });
  };
  static std::map<int, double> rates;
  double& rate = rates[threads];
  return rate = std::max(rate, 2.0 * n * n * n / best_of(5, product));
}

double copy_rate(std::int64_t bytes, int threads) {
  const WithThreads with(threads);
  const std::int64_t half = std::max<std::int64_t>(bytes / 2, 1);
  const std::vector<char> from(static_cast<std::size_t>(half), 1);
  std::vector<char> to(static_cast<std::size_t>(half));
  const auto copy = [&] {
    kernels::parallel_for(half, (half + threads - 1) / threads, [&](std::int64_t begin, std::int64_t end) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<std::size_t>(end - begin));
    });
    benchmark::DoNotOptimize(to.data());
  };
  return 2 * static_cast<double>(half) / best_of(100, copy);
}

void measure(benchmark::State& state, const Cost& cost, const std::function<void()>& body) {
  const int threads = static_cast<int>(state.range(0));
  const WithThreads with(threads);
  body();
  const double before = rate_for(cost, threads);
  std::vector<double> times;
  for (auto _ : state) {
    times.push_back(seconds_of(body));
    state.SetIterationTime(times.back());
  }
  const double limit = std::max(before, rate_for(cost, threads));
  const double best = *std::min_element(times.begin(), times.end());
  const double rate = (cost.flop > 0 ? cost.flop : cost.bytes) / best;
  state.counters["best"] = best;
  state.counters["median"] = median(times);
  state.counters[cost.flop > 0 ? "FLOP/s" : "bytes/s"] = rate;
  state.counters["limit"] = rate / limit;
}

double peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) * 1024;
  return 0;
}

void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << "5"; }

bool passes(benchmark::State& state, const std::string& name, const std::function<void()>& check) {
  static std::set<std::string> passed;
  if (passed.contains(name)) return true;
  try {
    check();
  } catch (const std::exception& e) {
    state.SkipWithError(e.what());
    return false;
  }
  passed.insert(name);
  return true;
}

void need_near(const std::string& what, const Tensor& got, const std::vector<double>& wanted,
               double tolerance) {
  const std::vector<double> numbers = got.to_vector();
  if (numbers.size() != wanted.size())
    fail("[{}] {} numbers, where the plain loops have {}", what, numbers.size(), wanted.size());
  double largest = 0, worst = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(wanted[i]));
    const double off = std::abs(numbers[i] - wanted[i]);
    if (!(off <= worst)) worst = off;  // NaN as well
  }
  if (!(worst <= tolerance * largest))
    fail("[{}] differs from the plain loops by {} where the largest number is {}", what, worst, largest);
}

}  // namespace pencil::bench
