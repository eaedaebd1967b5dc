// Elementwise kernels made from formulas: one formula gives the forward kernel, each partial and second
// derivatives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "autograd/kernels/broadcast.hpp"
#include "autograd/kernels/dual.hpp"
#include "autograd/kernels/lane.hpp"
#include "autograd/kernels/lane_missing.hpp"

namespace pencil::kernels {

/// The kernels of one formula f(x₀, x₁, …) for numbers of type T. Inputs are row-major and broadcast; dy and
/// u have the output's shape, as have the results: undoing the broadcast is the caller's. A result may be
/// written over an input of the output's shape. Every element has the same bits wherever it stands and for
/// any number of threads.
///
/// `formula` points to the formula's value where it captures something, and may be null where it does not.
template <class T>
struct ElementwiseTable {
  static constexpr int max_arity = Broadcast::max_inputs;

  /// Computes n numbers of the formula from n of each input (for a derivative followed by dy, then u).
  using Kernel = void (*)(const void* formula, std::int64_t n, const T* const* in, T* out);

  int arity = 0;
  int lane = 1;  ///< numbers in a lane
  Kernel forward_kernel = nullptr;
  Kernel partial_kernel[max_arity] = {};
  Kernel second_kernel[max_arity][max_arity] = {};

  /// y = f(x₀, x₁, …)
  void forward(const Broadcast& walk, const T* const* x, T* y, const void* formula = nullptr) const;

  /// out = dy · ∂f/∂xᵢ. Where f's derivative is cut off (a branch not taken), 0 whatever dy is.
  void partial(int i, const Broadcast& walk, const T* dy, const T* const* x, T* out,
               const void* formula = nullptr) const;

  /// out = u · dy · ∂²f/∂xᵢ∂xⱼ
  void second(int i, int j, const Broadcast& walk, const T* u, const T* dy, const T* const* x, T* out,
              const void* formula = nullptr) const;
};

extern template struct ElementwiseTable<float>;
extern template struct ElementwiseTable<double>;

/// How many arguments a formula takes: 1 to 4.
template <class F, class L = Lane<double>>
constexpr int formula_arity() {
  if constexpr (requires { F::arity; })
    return F::arity;
  else if constexpr (std::is_invocable_v<const F&, L>)
    return 1;
  else if constexpr (std::is_invocable_v<const F&, L, L>)
    return 2;
  else if constexpr (std::is_invocable_v<const F&, L, L, L>)
    return 3;
  else if constexpr (std::is_invocable_v<const F&, L, L, L, L>)
    return 4;
  else {
    constexpr bool of_double = std::is_invocable_v<const F&, double> ||
                               std::is_invocable_v<const F&, double, double> ||
                               std::is_invocable_v<const F&, double, double, double> ||
                               std::is_invocable_v<const F&, double, double, double, double>;
    static_assert(!of_double,
                  "a formula works many numbers at once: write auto for each argument, [](auto x) { … }");
    static_assert(of_double || detail::never<F>,
                  "a formula takes one to four arguments by value: [](auto x, auto y) { return x * y; }");
    return 0;
  }
}

namespace detail {

/// A formula may say that it has none: static constexpr bool differentiable = false.
template <class F>
constexpr bool has_derivatives() {
  if constexpr (requires { F::differentiable; })
    return F::differentiable;
  else
    return true;
}

template <class F>
decltype(auto) formula_at(const void* formula) {
  if constexpr (std::is_empty_v<F> && std::is_default_constructible_v<F>)
    return F{};
  else
    return *static_cast<const F*>(formula);
}

/// The loops of formula F over lanes of Arch. The last lane, which may be there in part only, runs through
/// the same machine code as all others, so that a number's last bits do not depend on where it stands.
template <class F, class T, class Arch>
struct FormulaKernels {
  using L = Lane<T, Arch>;
  using D = Dual<L>;
  using Inner = Dual<L, true>;
  using Outer = Dual<Inner>;
  static constexpr int arity = formula_arity<F, L>();
  using Arguments = std::make_index_sequence<static_cast<std::size_t>(arity)>;

  template <std::size_t... A>
  [[gnu::flatten]] static void forward(const void* formula, std::int64_t n, const T* const* in, T* out) {
    const F f = formula_at<F>(formula);  // a copy: what it captures stays in registers
    static_assert(std::is_convertible_v<decltype(f(L(in[A][0])...)), L>,
                  "a formula gives a number: of a comparison write select(condition, 1, 0)");
    const T* const x[]{in[A]...};
    for (std::int64_t at = 0; at < n; at += L::size) {
      const L y = f(L::load_first(x[A] + at, n - at)...);
      y.store_first(out + at, n - at);
    }
  }

  /// Argument `a` as the formula sees it when the derivative with respect to argument `i` is wanted, dy its
  /// seed.
  template <std::size_t i, std::size_t a>
  static auto dual_argument(L x, L dy) {
    if constexpr (a == i)
      return D(x, dy);
    else
      return x;
  }

  template <std::size_t i, std::size_t... A>
  [[gnu::flatten]] static void partial(const void* formula, std::int64_t n, const T* const* in, T* out) {
    const F f = formula_at<F>(formula);
    const T* const x[]{in[A]...};
    const T* const dy = in[arity];
    for (std::int64_t at = 0; at < n; at += L::size) {
      const L seed = L::load_first(dy + at, n - at);
      const L dx = derivative(f(dual_argument<i, A>(L::load_first(x[A] + at, n - at), seed)...));
      dx.store_first(out + at, n - at);
    }
  }

  template <std::size_t i, std::size_t j, std::size_t a>
  static auto twice_dual_argument(L x, L dy, L u) {
    if constexpr (a == i && a == j)
      return Outer(Inner(x, u), Inner(dy, L(0)));
    else if constexpr (a == i)
      return Outer(Inner(x, L(0)), Inner(dy, L(0)));
    else if constexpr (a == j)
      return Inner(x, u);
    else
      return x;
  }

  template <std::size_t i, std::size_t j, std::size_t... A>
  [[gnu::flatten]] static void second(const void* formula, std::int64_t n, const T* const* in, T* out) {
    const F f = formula_at<F>(formula);
    const T* const x[]{in[A]...};
    const T* const dy = in[arity];
    const T* const u = in[arity + 1];
    for (std::int64_t at = 0; at < n; at += L::size) {
      const L seed = L::load_first(dy + at, n - at), seed2 = L::load_first(u + at, n - at);
      const L d = derivative(
          derivative(f(twice_dual_argument<i, j, A>(L::load_first(x[A] + at, n - at), seed, seed2)...)));
      d.store_first(out + at, n - at);
    }
  }

  template <std::size_t i, std::size_t j, std::size_t... A>
  static constexpr auto second_of(std::index_sequence<A...>) {
    return &second<(i < j ? i : j), (i < j ? j : i), A...>;  // ∂²f/∂xᵢ∂xⱼ = ∂²f/∂xⱼ∂xᵢ
  }

  template <std::size_t i, std::size_t... A>
  static constexpr void fill_row(ElementwiseTable<T>& table, std::index_sequence<A...> arguments) {
    table.partial_kernel[i] = &partial<i, A...>;
    ((table.second_kernel[i][A] = second_of<i, A>(arguments)), ...);
  }

  template <std::size_t... A>
  static constexpr ElementwiseTable<T> table(std::index_sequence<A...> arguments) {
    ElementwiseTable<T> made;
    made.arity = arity;
    made.lane = static_cast<int>(L::size);
    made.forward_kernel = &forward<A...>;
    if constexpr (has_derivatives<F>()) (fill_row<A>(made, arguments), ...);
    return made;
  }
};

}  // namespace detail

/// The kernels of formula F, compiled with the flags of the including file.
template <class F, class T, class Arch = BestArch>
constexpr ElementwiseTable<T> elementwise_table() {
  using Kernels = detail::FormulaKernels<F, T, Arch>;
  return Kernels::table(typename Kernels::Arguments{});
}

}  // namespace pencil::kernels
