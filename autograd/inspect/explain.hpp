#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "autograd/inspect/glossary.hpp"
#include "autograd/tape.hpp"

namespace pencil {

struct ExplainOptions {
  int depth = 1;        // 2 explains also the numbers that the first arithmetic shows, 3 those of these …
  bool pencil = false;  // rounded after every step, as a person with a pencil does
  Glossary glossary = Glossary::pencil;
  std::size_t terms = 8;    // of a sum, before it is shortened
  std::size_t numbers = 8;  // of a row, before it is shortened
  int digits = 6;           // of every number, without the pencil

  static constexpr int to_the_leaves = std::numeric_limits<int>::max();  // a depth
};

/// An explanation in parts, for whoever lays it out in another way.
struct Explanation {
  struct Line {
    std::string word;        // "MATCH [0, 1]", "TOTAL", or ""
    std::string arithmetic;  // "2*3 + 0*0 + 1*2 + 0*0 = 8"
  };
  /// One number, or one row.
  struct Block {
    int step = -1;
    std::vector<std::int64_t> elements;  // row-major; of a Scalar its number on the tape
    std::string title;                   // "step 6: MATCH [0, 1] in attend"
    std::vector<Line> lines;             // each after those it uses; the last is the number asked for
    std::vector<std::string> notes;      // what the op has to say about it
    std::string from;  // "from WANT [0, 0…3] (step 2), HAVE [1, 0…3] (step 4)"; may be empty
  };
  std::vector<Block> blocks;  // in the order of the tape; the number asked for comes last
};

/// The arithmetic of one number of a step's output, as a person would write it out:
///
///     step 6: MATCH [0, 1]
///         2*3 + 0*0 + 1*2 + 0*0 = 8
///         from WANT [0, 0…3] (step 2), HAVE [1, 0…3] (step 4)
///
/// An index one shorter than the rank asks for a whole row of the last axis; what differs from number to
/// number then stands in brackets: `0.047*[2, 0] + 0.953*[0, 3] = [0.094, 2.859]`. With `.depth` the numbers
/// that the arithmetic shows are explained too, each once and before it is used. Negative indices count from
/// the end.
///
/// Numbers of at most `.digits` digits are printed whole and all others rounded to so many, so that whoever
/// evaluates the line (double precision, the notation of any calculator) gets the number behind the equals
/// sign, but for what rounding took from the numbers shown; its own last digit may be off by one. Where the
/// tape's own number is another, since f32 rounds after every operation, it stands behind. Long sums are
/// shortened, "… 92 more terms that sum to 1.5". With `.pencil` blown-up numbers and their total keep four
/// significant digits and every other number three places, and the arithmetic goes on with those.
///
/// An op that says what it is composed of, but not its arithmetic, is explained through those simpler ops,
/// down to its inputs. What cannot be explained is said: a leaf, a paused or freed step, one whose input was
/// overwritten since, an op that does not say how it computes.
///
/// Throws Error for a step or an index that is not there. Changes nothing on the tape and records nothing.
std::string explain(const Tape& tape, int step, std::span<const std::int64_t> index,
                    const ExplainOptions& options = {});
std::string explain(const Tape& tape, int step, std::initializer_list<std::int64_t> index,
                    const ExplainOptions& options = {});
/// Of a tensor of this tape; throws Error for any other.
std::string explain(const Tape& tape, const Tensor& x, std::initializer_list<std::int64_t> index,
                    const ExplainOptions& options = {});

/// The arithmetic of a Scalar's statement:
///
///     step 0: z = a*b + exp(c)
///         2*1 + e^1 = 4.71828
///         from a, b, c
///
/// `.depth` goes on through Scalars, as far as those of other runs, and stops at numbers taken from tensors.
/// Throws Error for a Scalar that is not on this tape.
std::string explain(const Tape& tape, const Scalar& x, const ExplainOptions& options = {});

/// The same in parts.
Explanation explained(const Tape& tape, int step, std::span<const std::int64_t> index,
                      const ExplainOptions& options = {});
Explanation explained(const Tape& tape, const Scalar& x, const ExplainOptions& options = {});
std::string to_string(const Explanation& explanation);

}  // namespace pencil
