// Seeded random graphs made of all the library's ops, for tests that hold for every tape.
#pragma once

#include <cstdint>
#include <vector>

#include "autograd/tensor.hpp"

namespace pencil::tests {

struct RandomGraph {
  std::vector<Tensor> parameters;
  Tensor loss;
};

/// Records a graph of `calls` rows of the table of ops on the tape of this thread. Inputs are parameters or
/// what earlier calls gave, often read more than once; the loss is a weighted sum of all that nothing else
/// read.
RandomGraph random_graph(std::uint64_t seed, int calls, DType dtype = f64);

}  // namespace pencil::tests
