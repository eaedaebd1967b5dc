#pragma once

#include <cstdint>

#include "autograd/kernels/dispatch.hpp"
#include "autograd/kernels/row_program.hpp"

namespace pencil::kernels {

/// Arithmetic along rows whose operands may be one number a row instead of a row: y (rows, width). What a row
/// formula would spread first.
template <class T>
struct RowArithmetic {
  using Kernel = void (*)(std::int64_t rows, std::int64_t width, const T* const* in, T* y);

  /// The kernel of an instruction; bit k of `numbers` says that operand k is one number a row. None for
  /// instructions that are not rounded exactly, whose numbers must come through one machine code, and where
  /// all operands are numbers.
  Kernel (*kernel)(RowWord word, unsigned numbers);
};

template <class T, Isa>
const RowArithmetic<T>& row_arithmetic();

}  // namespace pencil::kernels
