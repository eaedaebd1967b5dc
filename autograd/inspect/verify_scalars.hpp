#pragma once

#include "autograd/inspect/verify.hpp"

namespace pencil::inspect {

/// The part of `verify` that looks at scalar statements: their values, their slopes, and after `backward`
/// their gradients. Adds what it finds. Linear in the statements.
void verify_scalars(const Tape& tape, const VerifyOptions& options, Verification& found);

}  // namespace pencil::inspect
