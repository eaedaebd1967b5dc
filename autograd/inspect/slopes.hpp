#pragma once

// A step's rule against central differences of its forward, in f64.

#include <string>
#include <utility>
#include <vector>

#include "autograd/inspect/verify.hpp"

namespace pencil::inspect {

struct Slopes {
  int agreed = 0;     // directions in which rule and differences agree
  std::string fault;  // the first disagreement, "" if none
  std::vector<std::pair<Verification::Reason, std::string>> could_not;
};

/// Tries every input of an op's step that can take a gradient. The step must be readable, its op have a rule.
Slopes check_slopes(const Step& step, const VerifyOptions& options);

}  // namespace pencil::inspect
