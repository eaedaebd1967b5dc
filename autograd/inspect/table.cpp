#include "autograd/inspect/table.hpp"

#include <algorithm>

namespace pencil::inspect {

Table::Table(std::vector<Column> columns, std::size_t width)
    : columns_(std::move(columns)), width_(width), cells_(columns_.size()), widths_(columns_.size()) {}

void Table::clear() {
  for (Cell& cell : cells_) cell.clear();
}

void Table::measure() {
  for (std::size_t i = 0; i < cells_.size(); ++i)
    widths_[i] = std::max(widths_[i], std::min(cells_[i].width(), columns_[i].limit));
}

void Table::append_row(std::string& text) const {
  std::size_t height = 1;
  for (const Cell& cell : cells_) height = std::max(height, cell.lines());
  for (std::size_t line = 0; line < height; ++line) {
    const std::size_t start = text.size();
    std::size_t owed = 0;  // blanks before the next text, so that no line ends in blanks
    for (std::size_t i = 0; i < cells_.size(); ++i) {
      if (widths_[i] == 0) continue;
      const std::string_view part = cells_[i][line];
      const std::size_t pad = widths_[i] - std::min(widths_[i], width_of(part));
      const std::size_t before = columns_[i].right ? pad : 0;
      owed += before;
      if (!part.empty()) {
        text.append(owed, ' ');
        text += part;
        owed = 0;
      }
      owed += pad - before + 2;
    }
    cut_line(text, start, width_);
    text += '\n';
  }
}

void cut_line(std::string& text, std::size_t start, std::size_t width) {
  if (width == 0 || text.size() - start <= width) return;  // a column takes a byte or more
  std::size_t columns = 0, keep = start;
  for (std::size_t i = start; i < text.size(); ++i) {
    if ((text[i] & 0xc0) == 0x80) continue;
    if (columns == width - 1) keep = i;
    if (++columns > width) {
      text.resize(keep);
      text += "…";
      return;
    }
  }
}

}  // namespace pencil::inspect
