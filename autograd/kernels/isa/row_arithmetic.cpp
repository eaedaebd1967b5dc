#include "autograd/kernels/isa/row_arithmetic.hpp"

#include <type_traits>

#include "autograd/kernels/formulas.hpp"
#include "autograd/kernels/isa/set.hpp"

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

template <class F, unsigned numbers, class T, class Arch>
struct AlongRows {
  using L = Lane<T, Arch>;

  template <unsigned k>
  static L number(const T* const* in, Size row) {
    if constexpr ((numbers >> k & 1) != 0)
      return in[k][row];
    else
      return 0;
  }
  template <unsigned k>
  static L whole(const T* const* in, Size at, L same) {
    if constexpr ((numbers >> k & 1) != 0)
      return same;
    else
      return L::load(in[k] + at);
  }
  template <unsigned k>
  static L first(const T* const* in, Size at, Size n, L same) {
    if constexpr ((numbers >> k & 1) != 0)
      return same;
    else
      return L::load_first(in[k] + at, n);
  }

  template <unsigned... k>
  [[gnu::flatten]] static void run(Size rows, Size width, const T* const* in, T* y,
                                   std::integer_sequence<unsigned, k...>) {
    const T* const x[]{in[k]...};
    for (Size row = 0; row < rows; ++row) {
      const L same[]{number<k>(x, row)...};
      const Size begin = row * width;
      Size i = 0;
      for (; i + L::size <= width; i += L::size)
        L(F{}(whole<k>(x, begin + i, same[k])...)).store(y + begin + i);
      if (i < width)
        L(F{}(first<k>(x, begin + i, width - i, same[k])...)).store_first(y + begin + i, width - i);
    }
  }

  static void kernel(Size rows, Size width, const T* const* in, T* y) {
    constexpr auto operands = std::make_integer_sequence<unsigned, static_cast<unsigned>(F::arity)>{};
    if constexpr (numbers == 0)
      run(1, rows * width, in, y, operands);
    else
      run(rows, width, in, y, operands);
  }
};

template <class F, class T, class Arch>
typename RowArithmetic<T>::Kernel kernel_of(unsigned numbers) {
  constexpr bool three = F::arity == 3;
  switch (numbers) {
    case 0:
      return &AlongRows<F, 0, T, Arch>::kernel;
    case 1:
      if constexpr (F::arity > 1) return &AlongRows<F, 1, T, Arch>::kernel;
      break;
    case 2:
      if constexpr (F::arity > 1) return &AlongRows<F, 2, T, Arch>::kernel;
      break;
    case 3:
      if constexpr (three) return &AlongRows<F, 3, T, Arch>::kernel;
      break;
    case 4:
      if constexpr (three) return &AlongRows<F, 4, T, Arch>::kernel;
      break;
    case 5:
      if constexpr (three) return &AlongRows<F, 5, T, Arch>::kernel;
      break;
    case 6:
      if constexpr (three) return &AlongRows<F, 6, T, Arch>::kernel;
      break;
    default:
      break;
  }
  return nullptr;
}

// Each of these is one operation, rounded exactly: the same bits whether a number stands in a whole lane or
// in the last one.
template <class T, class Arch>
typename RowArithmetic<T>::Kernel kernel_for(RowWord word, unsigned numbers) {
  switch (word) {
    case RowWord::neg:
      return kernel_of<formulas::Neg, T, Arch>(numbers);
    case RowWord::add:
      return kernel_of<formulas::Add, T, Arch>(numbers);
    case RowWord::sub:
      return kernel_of<formulas::Sub, T, Arch>(numbers);
    case RowWord::mul:
    case RowWord::both:
      return kernel_of<formulas::Mul, T, Arch>(numbers);
    case RowWord::div:
      return kernel_of<formulas::Div, T, Arch>(numbers);
    case RowWord::sqrt:
      return kernel_of<formulas::Sqrt, T, Arch>(numbers);
    case RowWord::abs:
      return kernel_of<formulas::Abs, T, Arch>(numbers);
    case RowWord::maximum:
    case RowWord::either:
      return kernel_of<formulas::Maximum, T, Arch>(numbers);
    case RowWord::minimum:
      return kernel_of<formulas::Minimum, T, Arch>(numbers);
    case RowWord::select:
    case RowWord::opposite:
      return kernel_of<formulas::Where, T, Arch>(numbers);
    case RowWord::equal:
      return kernel_of<formulas::Equal, T, Arch>(numbers);
    case RowWord::not_equal:
      return kernel_of<formulas::NotEqual, T, Arch>(numbers);
    case RowWord::less:
      return kernel_of<formulas::Less, T, Arch>(numbers);
    case RowWord::less_equal:
      return kernel_of<formulas::LessEqual, T, Arch>(numbers);
    default:
      return nullptr;
  }
}

template <class T, class Arch>
constexpr RowArithmetic<T> arithmetic{&kernel_for<T, Arch>};

}  // namespace

template <>
const RowArithmetic<float>& row_arithmetic<float, this_isa>() {
  return arithmetic<float, this_arch>;
}
template <>
const RowArithmetic<double>& row_arithmetic<double, this_isa>() {
  return arithmetic<double, this_arch>;
}

}  // namespace pencil::kernels
