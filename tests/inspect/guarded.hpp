// What is said of a tape on which a number is not finite, found afterwards or by a tape that watches.
#pragma once

#include "autograd/autograd.hpp"
#include "tests/catch.hpp"

namespace pencil::tests {

// What is said of a tape, "" where all is well.
inline std::string said(const Tape& tape) {
  const auto found = first_nonfinite(tape);
  return found ? to_string(*found) : "";
}

// The text that a guarded tape throws while `run` records and sweeps, which must be the one that
// first_nonfinite gives then and, but for the steps that it was passed on to, on a tape that was not guarded.
template <class F>
std::string stopped(const F& run) {
  std::string text;
  Tape guarded{{.stop_on_nonfinite = true}};
  try {
    run(guarded);
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK(said(guarded) == text);
  Tape plain;
  run(plain);
  const std::string later = said(plain);
  CHECK(later.substr(0, later.find('\n')) == text);
  return text;
}

}  // namespace pencil::tests
