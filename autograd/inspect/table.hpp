#pragma once

// Text in columns.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/inspect/cells.hpp"

namespace pencil::inspect {

/// Rows of cells, in columns as wide as their widest cell. Rows are filled twice: once to `measure` them all,
/// once to be printed, so that a long table need not stay in memory. A column whose cells were all empty is
/// left out.
class Table {
 public:
  struct Column {
    std::size_t limit =
        0;  // wider cells push the rest of their line to the right instead of widening the column
    bool right = false;  // numbers stand at the right
  };

  /// Lines are cut at `width` columns, the last being "…"; 0: never.
  Table(std::vector<Column> columns, std::size_t width);

  Cell& operator[](std::size_t column) { return cells_[column]; }
  /// Begins a new row.
  void clear();
  void measure();
  void append_row(std::string& text) const;

 private:
  std::vector<Column> columns_;
  std::size_t width_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> widths_;
};

/// Cuts the line that begins at `start` to so many columns, the last being "…". A width of 0 cuts nothing.
void cut_line(std::string& text, std::size_t start, std::size_t width);

}  // namespace pencil::inspect
