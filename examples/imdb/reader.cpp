#include "examples/imdb/reader.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "autograd/error.hpp"
#include "examples/imdb/folder.hpp"
#include "examples/imdb/hold_out.hpp"
#include "examples/imdb/review_sink.hpp"

namespace pencil::imdb {
namespace {

namespace fs = std::filesystem;

enum class Format : std::uint8_t { csv, tsv, json_lines };

/// A file's format by its name's ending, else by its first line.
Format format_of(const fs::path& path, std::string_view text) {
  const std::string ending = plain_word(path.extension().string());
  if (ending == ".csv") return Format::csv;
  if (ending == ".tsv" || ending == ".tab") return Format::tsv;
  if (ending == ".jsonl" || ending == ".ndjson") return Format::json_lines;
  const std::size_t begin = std::min(text.find_first_not_of(" \t\r\n"), text.size());
  const std::string_view line = text.substr(begin, text.find_first_of("\r\n", begin) - begin);
  if (line.starts_with('{')) return Format::json_lines;
  if (line.starts_with('['))
    fail("[read] {}: a JSON array; need JSON Lines, one object a line", path.string());
  if (line.find('\t') != std::string_view::npos) return Format::tsv;
  if (line.find(',') != std::string_view::npos) return Format::csv;
  fail("[read] {}: neither CSV, TSV nor JSON Lines: no comma or tab in its first line {}", path.string(),
       excerpt(line));
}

void check_is_text(const fs::path& path, std::string_view text) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF"))
    fail("[read] {}: the text is UTF-16; need UTF-8", path.string());
  const std::string_view line = text.substr(0, text.find('\n'));
  if (line.substr(0, 4096).find('\0') != std::string_view::npos)
    fail("[read] {}: no text file (it begins with binary data)", path.string());
}

Reading read_single_file(const fs::path& path, const ReadOptions& options) {
  std::error_code ignored;
  if (fs::is_character_file(path, ignored) || fs::is_block_file(path, ignored))
    fail("[read] {}: a device, which may never end; need a file, a pipe or a folder", path.string());
  const std::string text = read_file(path);
  check_is_text(path, text);
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    fail("[read] {}: the file is empty", path.string());
  ReviewSink sink(path.string(), options);
  switch (format_of(path, text)) {
    case Format::csv:
      read_delimited(text, ',', sink);
      break;
    case Format::tsv:
      read_delimited(text, '\t', sink);
      break;
    case Format::json_lines:
      read_json_lines(text, sink);
      break;
  }
  return sink.take();
}

}  // namespace

std::int64_t Reading::liked() const {
  return std::count_if(reviews.begin(), reviews.end(), [](const Review& r) { return r.label == 1; });
}

Reading read_reviews(const fs::path& path, Part part, const ReadOptions& options) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    if (error && error != std::errc::no_such_file_or_directory)
      fail("[read] {}: {}", path.string(), error.message());
    fail("[read] no such file or folder: {}", path.string());
  }
  return fs::is_directory(status) ? read_folder(path, part) : read_single_file(path, options);
}

Piles read_piles(const fs::path& data, const std::optional<fs::path>& test, std::uint64_t seed,
                 const ReadOptions& options) {
  Piles piles;
  piles.study = read_reviews(data, Part::train, options);
  if (test) {
    piles.exam = read_reviews(*test, Part::test, options);
  } else if (fs::is_directory(data)) {
    if (!has_part(data, Part::test))
      fail("[read] {}: no folder test in it to be judged by; name other reviews with --test", data.string());
    piles.exam = read_reviews(data, Part::test, options);
  } else {
    HoldOut parts = hold_out(std::move(piles.study.reviews), 0.2, seed);
    piles.study.reviews = std::move(parts.kept);
    piles.exam.reviews = std::move(parts.held_out);
    piles.held_out = true;
  }
  return piles;
}

}  // namespace pencil::imdb
