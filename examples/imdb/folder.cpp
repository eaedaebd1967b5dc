#include "examples/imdb/folder.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/error.hpp"
#include "autograd/kernels/threads.hpp"
#include "examples/imdb/review_sink.hpp"

namespace pencil::imdb {
namespace {

namespace fs = std::filesystem;

std::string_view name_of(Part part) { return part == Part::train ? "train" : "test"; }

/// The names of a folder's entries that `wanted` accepts, in byte order.
template <class Wanted>
std::vector<std::string> entries(const fs::path& folder, Wanted wanted) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    if (wanted(*entry)) names.push_back(entry->path().filename().string());
  if (error) fail("[read] {}: {}", folder.string(), error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> review_files(const fs::path& folder) {
  return entries(folder, [](const fs::directory_entry& entry) {
    std::error_code error;
    return entry.path().extension() == ".txt" && entry.is_regular_file(error);
  });
}

/// What a folder holds, for an error message.
std::string contents(const fs::path& folder) {
  constexpr std::size_t most = 10;
  const std::vector<std::string> names = entries(folder, [](const fs::directory_entry&) { return true; });
  if (names.empty()) return "nothing: the folder is empty";
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) text += (i > 0 ? ", " : "") + excerpt(names[i]);
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

/// The folder with pos and neg in it.
fs::path part_folder(const fs::path& folder, Part part) {
  const fs::path inner = folder / name_of(part);
  if (!is_folder(inner)) {
    if (is_folder(folder / "pos") && is_folder(folder / "neg")) return folder;
    fail("[read] {}: no folder {} in it; need {}/pos and {}/neg; it holds {}", folder.string(), name_of(part),
         name_of(part), name_of(part), contents(folder));
  }
  for (const char* label : {"pos", "neg"})
    if (!is_folder(inner / label))
      fail("[read] {}: no folder {} in it; need pos and neg; it holds {}", inner.string(), label,
           contents(inner));
  return inner;
}

}  // namespace

bool has_part(const fs::path& folder, Part part) { return is_folder(folder / name_of(part)); }

Reading read_folder(const fs::path& folder, Part part) {
  const fs::path from = part_folder(folder, part);
  Reading reading;
  std::vector<fs::path> files;
  for (const int label : {1, 0}) {
    const fs::path inner = from / (label == 1 ? "pos" : "neg");
    const std::vector<std::string> names = review_files(inner);
    if (names.empty()) fail("[read] {}: no .txt files in it", inner.string());
    for (const std::string& name : names) {
      files.push_back(inner / name);
      reading.reviews.push_back({{}, label});
    }
  }
  if (is_folder(from / "unsup"))
    reading.unlabelled = static_cast<std::int64_t>(review_files(from / "unsup").size());

  std::atomic<std::int64_t> broken_bytes = 0;
  constexpr std::int64_t grain = 64;
  const auto n = static_cast<std::int64_t>(files.size());
  kernels::parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      reading.reviews[i].text = read_file(files[i]);
      broken_bytes += tidy(reading.reviews[i].text);
    }
  });
  reading.broken_bytes = broken_bytes;
  return reading;
}

}  // namespace pencil::imdb
