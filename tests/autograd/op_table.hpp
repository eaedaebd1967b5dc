// The table of ops: what the tests that hold for every op are derived from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/op.hpp"

namespace pencil::tests {

using Call = std::function<Tensor(Inputs)>;

struct OpRow {
  std::string word;  // of the op, which is the last thing f applies
  Call f;
  std::vector<std::vector<Tensor>> cases;  // inputs of f in f64 and i32: usual, broadcast, empty, of rank 0
  bool mark = false;                       // no gradient passes
};

const std::vector<OpRow>& op_table();

}  // namespace pencil::tests
