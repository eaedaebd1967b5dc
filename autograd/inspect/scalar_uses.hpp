#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/inspect/statements.hpp"

namespace pencil::inspect {

/// Who reads each Scalar of a tape: statements, and tensors that it was stacked in. Made once, in time and
/// memory linear in the statements.
class ScalarUses {
 public:
  /// A statement reads it as operand so and so; or, where `statement` is −1, it is a number of a step's
  /// output.
  struct Use {
    std::int64_t statement = -1;
    std::int64_t operand = 0;  // of a tensor, the number
    int step = -1;
  };

  explicit ScalarUses(const ScalarStatements& scalars);

  /// In the order of the tape, tensors last.
  std::span<const Use> of(std::size_t scalar) const {
    return std::span(uses_).subspan(first_[scalar], first_[scalar + 1] - first_[scalar]);
  }

 private:
  std::vector<std::size_t> first_;  // where each Scalar's uses begin; one more at the end
  std::vector<Use> uses_;
};

}  // namespace pencil::inspect
