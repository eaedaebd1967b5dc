#pragma once

// Two slow readings of a row program; no part of the public interface.

#include "autograd/arithmetic.hpp"
#include "autograd/kernels/row_program.hpp"
#include "autograd/op.hpp"

namespace pencil::detail {

/// The program in ops, one for each instruction, over arguments that broadcast to the shape `rows`.
Tensor row_composed(const kernels::RowProgram& program, const Shape& rows, Inputs in);

/// The arithmetic of one number of the output of a step whose inputs are the program's arguments.
Worked row_arithmetic(const kernels::RowProgram& program, Worksheet& sheet, std::int64_t element);

}  // namespace pencil::detail
