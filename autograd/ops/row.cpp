#include "autograd/ops/row.hpp"

#include "autograd/error.hpp"

namespace pencil::detail {

namespace {

kernels::RowProgram& program_of(const RowTerm& a, const RowTerm& b) {
  if (a.program != b.program)
    fail("[row formula] a row of one formula was used in another: a formula may only use its own arguments");
  return *a.program;
}

}  // namespace

RowTerm row_applied(kernels::RowWord word, const RowTerm& a) {
  return {a.program, a.program->apply(word, a.place)};
}

RowTerm row_applied(kernels::RowWord word, const RowTerm& a, const RowTerm& b) {
  return {a.program, program_of(a, b).apply(word, a.place, b.place)};
}

RowTerm row_applied(kernels::RowWord word, const RowTerm& a, const RowTerm& b, const RowTerm& c) {
  program_of(a, c);
  return {a.program, program_of(a, b).apply(word, a.place, b.place, c.place)};
}

RowTerm row_folded(kernels::RowWord word, const RowTerm& a) {
  return {a.program, a.program->fold(word, a.place)};
}

}  // namespace pencil::detail
