#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace pencil::imdb {

/// Fails now rather than after the work where a file cannot be written; `option` names it: "save".
void check_can_be_written(const std::optional<std::filesystem::path>& path, const char* option);

/// Writes a text in place of what stood there, in one stroke. Throws Error with the path.
void write_file(const std::filesystem::path& path, std::string_view text);

}  // namespace pencil::imdb
