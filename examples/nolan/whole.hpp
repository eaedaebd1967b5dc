#pragma once

#include "examples/nolan/nolan.hpp"
#include "examples/nolan/page.hpp"

namespace pencil::nolan {

/// The rest of the machine on the same two words: both rows, two teams, glue, blend, collapse, workers, tick,
/// wrongness, and the blame all the way back to the dictionary's sticks. Whole-number grids, so that it can
/// be followed with a pencil; those of the first team give the HAVE and GIVE sticks of the first page.
void append_whole(Page& page, const Options& options, const Tensor& hidden);

}  // namespace pencil::nolan
