#pragma once

// How one value or one text fits into a column of a printed tape.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tensor.hpp"

namespace pencil::inspect {

/// Lines of text in one cell; `clear` keeps their memory for the next step.
class Cell {
 public:
  void clear() { used_ = 0; }
  /// A new, empty line to append to.
  std::string& line();
  std::size_t lines() const { return used_; }
  std::string_view operator[](std::size_t i) const { return i < used_ ? std::string_view(lines_[i]) : ""; }
  /// Of the widest line.
  std::size_t width() const;

 private:
  std::vector<std::string> lines_;
  std::size_t used_ = 0;
};

/// How many columns a UTF-8 text takes, a character a column.
std::size_t width_of(std::string_view text);
/// Appends a text, control characters escaped (\n, \x1b) so that no name breaks a line.
void append_plain(std::string& to, std::string_view text);
/// A tensor's numbers: whole where it has at most `whole`, a row a line, else first numbers, least, mean and
/// largest.
void append_values(Cell& to, const Tensor& x, std::int64_t whole);

}  // namespace pencil::inspect
