#pragma once

// Who looks at whom: the weights of the steps of a tape that attend.

#include <string>
#include <vector>

#include "autograd/tape.hpp"

namespace pencil::inspect {

struct AttentionMap {
  int step;        // the step that attends
  Tensor weights;  // (heads, rows, keys), of the first sample of a batch
  std::int64_t samples = 1;
  std::string fault;  // why there are none: what the step read was freed or overwritten
};

/// Of a fused step its op says the weights (OpParts::weights); of attention recorded in its steps the one in
/// the role of weights holds them. In the order of the tape. Records nothing.
std::vector<AttentionMap> attention_maps(const Tape& tape, int first_step);

}  // namespace pencil::inspect
