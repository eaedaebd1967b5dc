#include "examples/imdb/output.hpp"

#include <unistd.h>

#include "autograd/error.hpp"
#include "autograd/files/file.hpp"

namespace pencil::imdb {

namespace fs = std::filesystem;

void check_can_be_written(const std::optional<fs::path>& path, const char* option) {
  if (!path) return;
  const fs::path folder = path->has_parent_path() ? path->parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    fail("--{} {}: there is no folder {}", option, path->string(), folder.string());
  if (fs::exists(*path, ignored) && !fs::is_regular_file(*path, ignored))
    fail("--{} {}: that is no regular file", option, path->string());
  if (access(folder.c_str(), W_OK) != 0)
    fail("--{} {}: the folder {} cannot be written", option, path->string(), folder.string());
}

void write_file(const fs::path& path, std::string_view text) {
  pencil::detail::write_file(path, "write",
                             [&](pencil::detail::FileWriter& file) { file.write(text.data(), text.size()); });
}

}  // namespace pencil::imdb
