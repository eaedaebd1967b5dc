#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

/// What keeps a gradient from a tensor, in the order in which one looks for it.
enum class Cause : std::uint8_t {
  flows,          // nothing: there is one
  frozen,         // it is a frozen parameter
  foreign,        // it, or the loss, is of another tape that lives: a constant here
  ended_tape,     // it, or the loss, is of a tape that has ended: a constant here
  constant,       // no parameter, and made from none; or a step takes it as a constant (labels, a mask)
  never_used,     // no step reads it
  not_on_path,    // what comes of it does not reach this loss
  paused,         // a step read it while the tape was paused
  detached,       // it was cut off from the tape
  no_derivative,  // it passed through an op without one
  not_yet,        // backward has not run
  other_loss,     // backward ran from another step
  freed,          // Keep::leaves: it cannot be told any more
  zero,           // a step on the path got a gradient and its derivatives there are 0
  cancels,        // contributions that are not 0 add up to 0, or to rounding
  unheld          // it has a gradient, but no optimizer holds it
};

std::string_view name_of(Cause cause);

struct WhyOptions {
  /// Asks for one number, or one row: the first places of an index. Empty: the whole tensor.
  std::vector<std::int64_t> index = {};
  /// All parameters that optimizers hold; or the names of those that none holds, from what `step()` returned.
  std::optional<std::vector<Tensor>> held = {};
  std::vector<std::string> unheld = {};
  Glossary glossary = Glossary::pencil;
};

struct Finding {
  Cause cause;
  int step;     // where it is to be seen, or −1
  Where where;  // the user's line of that step; line 0 if there is none
  std::string text;
};

/// The answer, and what else stands in the way.
struct Why {
  std::string asked;              // what was asked about: "step 1 WANT-grid attend.query.weight"
  std::vector<Finding> findings;  // at least one; the first is the answer

  Cause cause() const { return findings.front().cause; }
  int step() const { return findings.front().step; }
  Where where() const { return findings.front().where; }
  const std::string& text() const { return findings.front().text; }
};

/// Why a tensor has no gradient, or none to speak of, of a loss. Walks from the tensor towards the loss and
/// names the first break; where there is a path and the gradient is exactly 0, the step where the zero came
/// in, in the words of its op ("a dead relu"), and where it is what rounding leaves of contributions that
/// cancel, the step that adds them up. Where there is a gradient it says so, with its norm and the path that
/// brings most of it.
///
/// Before `backward` only the path is looked at. Where it came in that a gradient is 0 needs a tape with
/// Keep::all: it runs the rules and forwards of the steps in between once or twice more, on nothing that is
/// recorded. Linear in the tape, never recursive; changes nothing.
///
/// Throws Error for an undefined tensor and for an index that does not fit.
Why why(const Tape& tape, const Tensor& loss, const Tensor& x, const WhyOptions& options = {});

/// The answer and what else was found, a line each; `lines`: with the source lines.
std::string to_string(const Why& why, bool lines = true);

}  // namespace pencil
