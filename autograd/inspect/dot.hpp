#pragma once

#include <cstdio>
#include <string>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

struct DotOptions {
  Glossary glossary = Glossary::pencil;
  /// Modules of this depth are one node each, as in a dump: 1 folds the outermost, 2 those within them; 0
  /// shows each step.
  int fold = 0;
};

/// The tape in Graphviz's language, for `dot -Tsvg`: each step with word, name and shape, each call of a
/// module as a cluster. An edge leads from a step to what it was computed from; its arrowhead shows the way
/// of the numbers, inputs on top. Ids are stable: step 12 is `step12`, a folded module that begins with it
/// `module12_1`, where 1 is its depth. Every name survives: quotes, backslashes, newlines, emoji, control
/// characters and bytes that are no UTF-8. Size and time are linear in the steps.
std::string dot(const Tape& tape, const DotOptions& options = {});
/// The same text to a file. Throws Error if it cannot be written.
void dot(std::FILE* file, const Tape& tape, const DotOptions& options = {});

}  // namespace pencil
