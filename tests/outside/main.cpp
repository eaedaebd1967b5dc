// What an outside project sees: Pencil's headers by their paths from its root, and its libraries behind one
// target.
#include <fmt/format.h>

#include "autograd/create.hpp"
#include "autograd/kernels/blas.hpp"

int main() {
  const pencil::Tensor x = pencil::tensor({{1, 2}, {3, 4}}, pencil::f64);
  double y[4];
  const double* numbers = x.values<double>().data();
  pencil::kernels::gemm(false, false, 2, 2, 2, 1.0, numbers, 2, numbers, 2, 0.0, y, 2);
  fmt::print("{} {} {} {}\n", y[0], y[1], y[2], y[3]);
  return y[0] == 7 && y[1] == 10 && y[2] == 15 && y[3] == 22 ? 0 : 1;
}
