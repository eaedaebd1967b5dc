#pragma once

#include <optional>

#include "autograd/nonfinite.hpp"

namespace pencil {

/// The first NaN or infinity of a tape's forward pass that nobody gave, and if there is none, of `backward`:
/// the step that made it, or the leaf that held it, apart from those that passed it on. Nothing where all is
/// well.
///
/// Infinities may be meant (a mask of −∞): a constant that holds one, or a number in the user's line, is to
/// blame only if what the tape led to is not finite and no step made it so. A NaN is never meant, nor an
/// infinity in a parameter.
///
/// Scalars that are leaves count as parameters; a statement's name, or s and its number, stands as its name.
///
/// Rules of doubtful steps are run again, off the tape, to see what they give. What was freed (Keep::leaves)
/// cannot be looked at: there, look before `backward`, or make the tape with TapeOptions::stop_on_nonfinite;
/// where that has stopped, what it stopped at is the answer. Linear in the tape.
std::optional<NonFinite> first_nonfinite(const Tape& tape);

}  // namespace pencil
