#pragma once

// How one number of a step was computed: by what its op says, or by the simpler ops it is composed of.

#include "autograd/inspect/written.hpp"

namespace pencil::inspect {

/// The arithmetic of a number of a step, by its row-major place. Where there is none to show, a sentence says
/// why. An op that does not say its arithmetic but what it is composed of is run once more in those simpler
/// ops, on a tape of its own; each number that they went through has a line of its own.
Working working_of(const Tape& tape, int step, std::int64_t element, const WritingOptions& options);

}  // namespace pencil::inspect
