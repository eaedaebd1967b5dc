#pragma once

// Worked arithmetic as lines of a page: what a reader gets to see of an op's Worksheet.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/arithmetic.hpp"
#include "autograd/inspect/glossary.hpp"

namespace pencil::inspect {

/// One mark of an expression in postfix order: operands stand before what is done with them.
struct Token {
  enum class Kind : std::uint8_t {
    number,  // leaves: a number as it stands,
    input,   // a number of an input,
    line,    // the result of an earlier line,
    rest,    // what is left out of a long sum, max or min
    negative,
    sum,
    difference,
    product,
    quotient,
    call,
    choice
  };
  Kind kind = Kind::number;
  bool held = false;               // of a choice: whether its comparison held
  DType dtype = f64;               // of a leaf: how precise its number is
  std::int32_t operands = 0;       // how many
  std::int32_t from = -1;          // of an input which one, of a line its place on the page
  std::int64_t place = 0;          // of an input which of its numbers, of a rest how many terms it stands for
  double value = 0;                // what it comes to
  std::string_view function = {};  // the name of a call, the sign of a choice
  bool leaf() const { return kind <= Kind::rest; }
};

/// One line: an expression, or the like expressions of several numbers of a row side by side.
struct Line {
  std::string word = {};                         // what stands before it; may be empty
  Shape shape = {};                              // of the step it is a number of, and which ones, where the
  std::vector<std::int64_t> places = {};         // line stands for a step of its own
  std::vector<std::vector<Token>> columns = {};  // a number each, alike but for their leaves
  DType dtype = f64;                             // of the results
  std::vector<double> recorded = {};             // what the step itself came to; empty in the midst of one
  double result(std::size_t column = 0) const { return columns[column].back().value; }
};

/// The arithmetic of one number, or of a row of them, each line after those it uses.
struct Working {
  std::vector<Line> lines = {};
  std::vector<std::string> notes = {};
  // Where there is no arithmetic to show:
  std::string says = {};          // a sentence, which stands behind
  std::vector<double> said = {};  // the numbers themselves, as far as they are there,
  DType dtype = f64;              // of this type
};

struct WritingOptions {
  std::size_t terms = 8;  // of a sum before it is shortened
  Glossary glossary = Glossary::pencil;
};

/// Which leaf stands for a number that the step read.
using LeafOf = std::function<Token(const WorkedTerm&)>;

/// Appends the arithmetic of a sheet whose result is `root`. A term gets a line of its own where the op asked
/// for one, and where it is used more than once and is more than a number. Of a sum of more than
/// `options.terms` terms only the first are written, and lines that only the others use are left out.
void write_out(Working& page, const Worksheet& sheet, const Worked& root, const LeafOf& leaf_of,
               const WritingOptions& options);

/// Whether two leaves are the same number of the same place.
bool same_leaf(const Token& a, const Token& b);

/// The workings of several numbers as one, where they differ in nothing but their leaves.
std::optional<Working> side_by_side(const std::vector<Working>& numbers);
/// The same one below the other, lines that they share written once.
Working one_by_one(const std::vector<Working>& numbers);

}  // namespace pencil::inspect
