#pragma once

#include <filesystem>

#include "examples/imdb/reader.hpp"

namespace pencil::imdb {

/// Whether the folder has a subfolder for the part.
bool has_part(const std::filesystem::path& folder, Part part);

/// The reviews of a part of the aclImdb folder (see read_reviews); files are read on all threads.
Reading read_folder(const std::filesystem::path& folder, Part part);

}  // namespace pencil::imdb
