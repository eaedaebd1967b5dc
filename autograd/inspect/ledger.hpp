#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

struct LedgerOptions {
  int lines = 20;  // at most; from 1
  Glossary glossary = Glossary::pencil;
};

/// Where the gradient of one number comes from. A step that read the number passes on, for each number of its
/// own output, a local derivative times the gradient that came down to it: one line. A line may be followed
/// further, through the steps that read *its* number: then lines with it as their parent stand for it.
///
/// What the lines that are not followed contribute, what `backward` was given and the rest add up to the
/// gradient.
struct Ledger {
  struct Line {
    int parent;            // the line that this one explains further, or −1: the number asked for
    int step;              // that read the parent's number,
    int input;             // as which of its inputs,
    std::int64_t element;  // and a number of its output, row-major
    std::string index;     // "[1, 2]"
    std::string word;      // what the step is called
    std::string name;      // its path or name
    double way;            // the product of the local derivatives of the lines above it
    double local;          // derivative of this number by the parent's
    double blame;          // the gradient that came down to this number
    bool scalar = false;   // a scalar statement: `element` is its number on the tape, `input` its operand;
                           // of a number that a Scalar was stacked in, `input` is −1
    bool followed = false;

    double product() const { return local * blame; }
    /// Of the gradient asked for.
    double contribution() const { return way * local * blame; }
  };
  /// A reading whose rule cannot be run again: what it passed on is in the rest.
  struct Unasked {
    int step;
    int input;
    std::string why;
  };

  int step = -1;
  std::string index;
  std::string word;
  std::string name;
  double gradient = 0;
  double given = 0;  // to `backward`, where it started from this very step
  std::vector<Line> lines;
  double rest = 0;        // the gradient less all that is listed
  bool complete = false;  // all there is is listed: the rest is rounding
  std::vector<Unasked> unasked;
  Glossary glossary = Glossary::pencil;
};

/// The ledger of one number's gradient. Lines are found best-first: of a step's numbers the ones that pass on
/// most, of the lines those with the largest contributions, a step further down counting half. What passes on
/// nothing has no line. The search halves a step's output, weighing each half under random signs so that
/// nothing hides by cancelling; it is not exhaustive: where many numbers contribute much the same, others may
/// be as large as the ones listed. Costs a run of a rule for each reader and some 2 log₂(size) for each line;
/// never paths, never recursion. Changes nothing.
///
/// Throws Error before `backward`, for a tape with Keep::leaves, a tensor that is not on the tape or got no
/// gradient, an index that does not fit its shape, and fewer than one line.
Ledger ledger(const Tape& tape, const Tensor& x, std::span<const std::int64_t> index,
              const LedgerOptions& options = {});
inline Ledger ledger(const Tape& tape, const Tensor& x, std::initializer_list<std::int64_t> index,
                     const LedgerOptions& options = {}) {
  return ledger(tape, x, std::span(index.begin(), index.size()), options);
}

/// The same of a Scalar's gradient. Scalar statements stand in every ledger one by one, a line each.
Ledger ledger(const Tape& tape, const Scalar& x, const LedgerOptions& options = {});

/// As a table: lines that explain another stand indented below it, and the numbers of the first column add up
/// to the gradient.
std::string to_string(const Ledger& ledger);

}  // namespace pencil
