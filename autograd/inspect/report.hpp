#pragma once

// Small tables, as reports print them.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pencil::inspect {

enum class Side : bool { left, right };

/// Rows of cells, the first being the titles, in columns as wide as their widest cell and two blanks apart;
/// at which side of its column a cell stands. A column whose cells are all empty is left out.
std::string table_text(const std::vector<Side>& sides, const std::vector<std::vector<std::string>>& rows);

/// A number of bytes for people: "512 B", "12.5 kB", "320 MB", a kB being 1,000 bytes.
std::string bytes_text(std::int64_t bytes);

/// The first parts of a module path, so many of them: "attend.query" has two. −1: all.
std::string_view path_head(std::string_view path, int parts);

}  // namespace pencil::inspect
