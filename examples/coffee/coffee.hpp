#pragma once

#include <string>

namespace pencil::coffee {

struct Options {
  std::string notes = {};  // a file, a note a line; empty for the sketchbook's 27
  std::string note = {};   // whose words look at each other; empty for "coffee study hours", or a file's last
  bool tape = false;       // also the tape itself
};

/// Notes to points in the plane, and what a bag and what attention make of one note.
std::string page(const Options& options);

}  // namespace pencil::coffee
