#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "autograd/inspect/curves.hpp"
#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

/// A text for a page, shown as it is laid out: a table of blame flow, of time.
struct Note {
  std::string title, text;
};

struct HtmlOptions {
  std::string title = "A tape";
  Glossary glossary = Glossary::pencil;
  /// How the page opens: with modules of this depth folded, 0 with none, −1 as the page sees fit. All can be
  /// unfolded there.
  int fold = -1;
  /// What stands in each slot, for pictures of attention; "" or "·" is padding. Without it slots are
  /// numbered.
  std::vector<std::string> words = {};
  std::vector<Chart> charts = {};  // of training
  std::vector<Note> notes = {};
  /// Of a longer tape only the last steps are shown, and the page says so.
  std::size_t most = 3000;
  std::int64_t worked = 16;  // of tensors of at most so many numbers each is explained, of others the first
  std::int64_t whole = 16;   // tensors of at most so many numbers are shown whole
};

/// The tape as a page that stands in one file and fetches nothing: a picture to pan, zoom and fold by module;
/// for a step that is chosen its value, its blame, its arithmetic and its source lines; for each step that
/// attends a map of who looks at whom, head by head, over the words; below them charts and notes. The weights
/// of attention are computed from what the step read, recorded nowhere. Works by mouse, finger and keyboard,
/// light or dark as the reader has it.
///
/// Any name survives and none breaks out of the page. Equal tapes give equal bytes. Changes nothing. Throws
/// Error for a fold below −1 and for uneven curves.
std::string html(const Tape& tape, const HtmlOptions& options = {});
/// The same text to a file. Throws Error if it cannot be written.
void html(std::FILE* file, const Tape& tape, const HtmlOptions& options = {});

}  // namespace pencil
