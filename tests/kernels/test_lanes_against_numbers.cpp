// A user's formula in lanes against the same formula in plain numbers: value, derivatives and second
// derivatives, at every length 1 … 67, for every instruction set that the flags of this file allow.
#include <array>
#include <cmath>
#include <vector>

#include "autograd/kernels/elementwise.hpp"
#include "autograd/random.hpp"
#include "tests/catch.hpp"

using namespace pencil;
using namespace pencil::kernels;

namespace {

constexpr auto swish = [](auto x) { return x / (1 + exp(-x)); };
constexpr auto waves = [](auto x) { return sin(3 * x) * cos(x) + tanh(x) - erf(x / 2); };
constexpr auto roots = [](auto x) {
  return sqrt(x * x + 1) + rsqrt(x * x + 2) + log(x * x + 0.5) - log1p(abs(x));
};
constexpr auto choice = [](auto x, auto y) {
  return select(x > y && !(x < 0.25), expm1(x) * y, max(x, y) - min(y, 0.5) * constant(x));
};
constexpr auto power = [](auto x, auto y, auto z) { return pow(abs(x) + 0.5, y) * pow(z, 3) + pow(2, z); };
constexpr auto blend = [](auto a, auto b, auto c, auto d) { return a * b + c / (d * d + 1); };

template <class F, std::size_t... A>
double called(const F& f, const auto& x, std::index_sequence<A...>) {
  return static_cast<double>(f(x[A]...));
}

// The same in dual numbers over double, with the seeds that lanes get.
template <class F, std::size_t i, std::size_t... A>
double partial(const F& f, const std::array<double, 4>& x, double dy, std::index_sequence<A...>) {
  const auto argument = [&]<std::size_t a>(std::integral_constant<std::size_t, a>) {
    if constexpr (a == i)
      return Dual<double>(x[a], dy);
    else
      return x[a];
  };
  return derivative(f(argument(std::integral_constant<std::size_t, A>{})...));
}

template <class F, std::size_t i, std::size_t... A>
double second(const F& f, const std::array<double, 4>& x, double dy, double u, std::index_sequence<A...>) {
  using Inner = Dual<double, true>;
  const auto argument = [&]<std::size_t a>(std::integral_constant<std::size_t, a>) {
    if constexpr (a == i)
      return Dual<Inner>(Inner(x[a], u), Inner(dy, 0));
    else
      return x[a];
  };
  return derivative(derivative(f(argument(std::integral_constant<std::size_t, A>{})...)));
}

template <class T>
bool close(T got, double want, double allowed) {
  return std::abs(static_cast<double>(got) - want) <= allowed * std::max(1.0, std::abs(want));
}

template <class Arch, class T, class F>
void check(const F& f) {
  constexpr auto table = elementwise_table<F, T, Arch>();
  constexpr auto arity = static_cast<std::size_t>(table.arity);
  constexpr auto places = std::make_index_sequence<arity>{};
  const double allowed = sizeof(T) == 4 ? 2e-5 : 1e-13;
  Rng rng{11};
  for (std::int64_t n = 1; n <= 67; ++n) {
    const auto start = static_cast<std::size_t>(n % 5), end = static_cast<std::size_t>(n) + start;
    std::array<std::vector<T>, 6> in;  // arguments, dy, u
    const T* pointers[4]{};
    for (std::size_t k = 0; k < in.size(); ++k) {
      for (std::size_t at = 0; at < end; ++at) in[k].push_back(static_cast<T>(rng.uniform() * 4 - 2));
      if (k < 4) pointers[k] = in[k].data() + start;
    }
    const T *dy = in[4].data() + start, *u = in[5].data() + start;
    std::vector<T> y(end + 1, T{-77}), dx = y, ddx = y;
    const Broadcast walk = flat_plan(n, table.arity);
    table.forward(walk, pointers, y.data() + start);
    table.partial(0, walk, dy, pointers, dx.data() + start);
    table.second(0, 0, walk, u, dy, pointers, ddx.data() + start);
    bool good = y[end] == T{-77} && dx[end] == T{-77} && ddx[end] == T{-77};
    for (std::size_t at = start; at < end; ++at) {
      std::array<double, 4> x{};
      for (std::size_t k = 0; k < 4; ++k) x[k] = in[k][at];
      good = good && close(y[at], called(f, x, places), allowed);
      good = good && close(dx[at], partial<F, 0>(f, x, in[4][at], places), 10 * allowed);
      good = good && close(ddx[at], second<F, 0>(f, x, in[4][at], in[5][at], places), 50 * allowed);
    }
    CAPTURE(n, sizeof(T), table.lane);
    CHECK(good);
  }
}

template <class Arch>
void check_all() {
  const auto both = [](const auto& f) {
    check<Arch, float>(f);
    check<Arch, double>(f);
  };
  both(swish), both(waves), both(roots), both(choice), both(power), both(blend);
}

}  // namespace

TEST_CASE("Lanes agree with numbers at every length, for every instruction set") {
  check_all<BestArch>();
#ifdef __x86_64__
  check_all<xsimd::sse2>();
#endif
#if defined(__AVX2__) && defined(__FMA__)
  check_all<xsimd::fma3<xsimd::avx2>>();
#endif
}
