#include "autograd/inspect/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "autograd/inspect/table.hpp"

namespace pencil::inspect {

std::string table_text(const std::vector<Side>& sides, const std::vector<std::vector<std::string>>& rows) {
  std::vector<Table::Column> columns;
  for (const Side side : sides) columns.push_back({.limit = 64, .right = side == Side::right});
  Table table(std::move(columns), 0);
  const auto fill = [&](const std::vector<std::string>& row) {
    table.clear();
    for (std::size_t i = 0; i < row.size(); ++i) append_plain(table[i].line(), row[i]);
  };
  for (const auto& row : rows) {
    fill(row);
    table.measure();
  }
  std::string text;
  for (const auto& row : rows) {
    fill(row);
    table.append_row(text);
  }
  return text;
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* unit = "";
  for (const char* larger : {"kB", "MB", "GB", "TB"}) {
    if (value < 999.95) break;
    value /= 1000;
    unit = larger;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

std::string_view path_head(std::string_view path, int parts) {
  if (parts < 0) return path;
  std::size_t end = 0;
  for (int i = 0; i < parts && end < path.size(); ++i)
    end = std::min(path.find('.', i == 0 ? 0 : end + 1), path.size());
  return path.substr(0, end);
}

}  // namespace pencil::inspect
