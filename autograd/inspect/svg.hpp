#pragma once

#include <cstdio>
#include <string>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

struct SvgOptions {
  Glossary glossary = Glossary::pencil;
  /// Modules of this depth are one node each, as in a dump: 1 folds the outermost, 2 those within them; 0
  /// shows each step.
  int fold = 0;
};

/// The tape as a picture: each step with word, name and shape, inputs on top, each call of a module as a box
/// around its steps. No other program is needed, and no font or file is fetched; light or dark as the reader
/// has it. Well-formed XML for every name. The bytes are the same on every machine. Time and size grow with
/// the steps and arrows.
std::string svg(const Tape& tape, const SvgOptions& options = {});
/// The same text to a file. Throws Error if it cannot be written.
void svg(std::FILE* file, const Tape& tape, const SvgOptions& options = {});

}  // namespace pencil
