// What the readers of single files share: labels, columns, bad rows, tidy texts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "examples/imdb/reader.hpp"

namespace pencil::imdb {

/// A whole file, without a UTF-8 byte-order mark. Throws with the path.
std::string read_file(const std::filesystem::path& path);

/// Makes CRLF and lone CR \n and each broken byte of UTF-8 a space; returns how many bytes were broken.
std::int64_t tidy(std::string& text);

/// Without spaces and tabs at both ends, A–Z in lower case.
std::string plain_word(std::string_view text);

/// 1 for positive, pos and 1, 0 for negative, neg and 0, in any case; nothing for anything else.
std::optional<int> label_of(std::string_view text);

/// Some foreign text for an error message: in quotes, no longer than 40 bytes, one line of well-formed UTF-8.
std::string excerpt(std::string_view text);

/// The columns that matter, by the names they may have; the first name goes before the second.
inline constexpr std::string_view text_names[] = {"review", "text"};
inline constexpr std::string_view label_names[] = {"sentiment", "label"};

/// Collects the reviews of one file.
class ReviewSink {
 public:
  ReviewSink(std::string file, const ReadOptions& options);

  /// A row of the file, or a bad row if the label is none.
  void add(std::int64_t line, std::string_view text, std::string_view label);
  /// A row that cannot be read: throws, or counts it.
  void bad(std::int64_t line, std::string_view reason);
  /// Bytes of broken UTF-8 that were mended before add.
  void add_broken_bytes(std::int64_t bytes) { reading_.broken_bytes += bytes; }

  /// The file as messages name it.
  const std::string& file() const { return file_; }
  /// Everything collected; throws if that is no review at all.
  Reading take();

 private:
  std::string file_;
  ReadOptions options_;
  Reading reading_;
};

/// Readers by format, of a whole file's text. The delimiter is a comma or a tab.
void read_delimited(std::string_view text, char delimiter, ReviewSink& sink);
void read_json_lines(std::string_view text, ReviewSink& sink);

}  // namespace pencil::imdb
