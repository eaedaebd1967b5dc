#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pencil::imdb {

/// One row of a CSV or TSV file; good until the next row is read.
struct DelimitedRow {
  std::span<const std::string> fields;
  std::int64_t line = 0;  ///< where it begins, counted from 1
  std::string fault;      ///< why the row cannot be read, if it cannot
};

/// The rows of a CSV file (RFC 4180) or TSV file, one by one.
///
/// Fields may stand in quotes; between them delimiters and line ends are text and "" is a quote. Rows end
/// with LF, CRLF, CR or the end of the text; empty lines are no rows. Quotes inside a field without quotes
/// are text.
///
/// TSV (delimiter tab) has no rules for quotes that all writers keep. A field that begins with a quote is
/// read like one of CSV if its closing quote ends the field, else word for word; and within quotes \" is a
/// quote too, unless it ends the field.
class DelimitedRows {
 public:
  /// `file` is named in errors. The text must outlive the object.
  DelimitedRows(std::string_view text, char delimiter, std::string file);

  /// Reads the next row; false at the end. Throws for a quote that is never closed, with the line it opens
  /// on.
  bool next(DelimitedRow& row);

 private:
  bool field_ends_at(const char* p) const;
  void end_line();
  std::string& new_field();
  void read_plain(std::string& field);
  bool read_quoted(std::string& field);

  const char* p_;
  const char* end_;
  char delimiter_;
  std::string file_;
  std::int64_t line_ = 1;  // of p_
  std::vector<std::string> fields_;
  std::size_t used_ = 0;
};

}  // namespace pencil::imdb
