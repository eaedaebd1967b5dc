#include "examples/imdb/delimited.hpp"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <utility>

#include "autograd/error.hpp"
#include "examples/imdb/review_sink.hpp"

namespace pencil::imdb {
namespace {

std::int64_t line_ends(const char* begin, const char* end) {
  std::int64_t count = 0;
  for (const char* p = begin; p != end; ++p)
    if (*p == '\n' || (*p == '\r' && !(p + 1 != end && p[1] == '\n'))) ++count;
  return count;
}

}  // namespace

DelimitedRows::DelimitedRows(std::string_view text, char delimiter, std::string file)
    : p_(text.data()), end_(text.data() + text.size()), delimiter_(delimiter), file_(std::move(file)) {}

bool DelimitedRows::field_ends_at(const char* p) const {
  return p == end_ || *p == delimiter_ || *p == '\n' || *p == '\r';
}

void DelimitedRows::end_line() {
  if (p_ == end_) return;
  p_ += *p_ == '\r' && p_ + 1 != end_ && p_[1] == '\n' ? 2 : 1;
  ++line_;
}

std::string& DelimitedRows::new_field() {
  if (used_ == fields_.size()) fields_.emplace_back();
  fields_[used_].clear();
  return fields_[used_++];
}

void DelimitedRows::read_plain(std::string& field) {
  const char* const begin = p_;
  while (!field_ends_at(p_)) ++p_;
  field.assign(begin, p_);
}

/// Reads a field from its opening quote on; false if text follows the closing one.
bool DelimitedRows::read_quoted(std::string& field) {
  const char* const begin = p_++;
  for (;;) {
    const void* const found =
        p_ == end_ ? nullptr : std::memchr(p_, '"', static_cast<std::size_t>(end_ - p_));
    if (found == nullptr)
      fail("[read] {}, line {}: the quote that opens field {} is never closed", file_, line_, used_);
    const char* const quote = static_cast<const char*>(found);
    const bool escaped = delimiter_ == '\t' && quote[-1] == '\\';
    field.append(p_, quote);
    p_ = quote + 1;
    if (field_ends_at(p_)) break;
    if (escaped) {
      field.back() = '"';
    } else if (*p_ == '"') {
      field += '"';
      ++p_;
    } else {
      if (delimiter_ == '\t') {
        p_ = begin;
        read_plain(field);
        return true;
      }
      return false;
    }
  }
  line_ += line_ends(begin, p_);
  return true;
}

bool DelimitedRows::next(DelimitedRow& row) {
  while (p_ != end_ && (*p_ == '\n' || *p_ == '\r')) end_line();
  if (p_ == end_) return false;
  used_ = 0;
  row.line = line_;
  row.fault.clear();
  for (;;) {
    std::string& field = new_field();
    const char* const begin = p_;
    if (p_ == end_ || *p_ != '"') {
      read_plain(field);
    } else if (!read_quoted(field)) {
      row.fault = fmt::format("text follows the closing quote of field {}", used_);
      while (p_ != end_ && *p_ != '\n' && *p_ != '\r') ++p_;
      line_ += line_ends(begin, p_);
    }
    if (p_ == end_ || *p_ != delimiter_) break;
    ++p_;
  }
  end_line();
  row.fields = std::span(fields_).first(used_);
  return true;
}

namespace {

/// Where the first of the names stands in the header.
std::optional<std::size_t> column(const DelimitedRow& header, std::span<const std::string_view> names,
                                  const std::string& file) {
  for (const std::string_view name : names) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < header.fields.size(); ++i) {
      if (plain_word(header.fields[i]) != name) continue;
      if (found) fail("[read] {}: columns {} and {} are both named {}", file, *found + 1, i + 1, name);
      found = i;
    }
    if (found) return found;
  }
  return {};
}

std::size_t needed_column(const DelimitedRow& header, std::span<const std::string_view> names,
                          const std::string& file) {
  if (const auto found = column(header, names, file)) return *found;
  constexpr std::size_t most = 20;
  std::string there;
  for (std::size_t i = 0; i < header.fields.size() && i < most; ++i)
    there += (i > 0 ? ", " : "") + excerpt(header.fields[i]);
  if (header.fields.size() > most) there += fmt::format(" and {} more", header.fields.size() - most);
  fail("[read] {}: no column is named {}; line {} names {}", file, fmt::join(names, " or "), header.line,
       there);
}

}  // namespace

void read_delimited(std::string_view text, char delimiter, ReviewSink& sink) {
  DelimitedRows rows(text, delimiter, sink.file());
  DelimitedRow row;
  if (!rows.next(row)) return;
  if (!row.fault.empty()) fail("[read] {}, line {}: {}", sink.file(), row.line, row.fault);
  const std::size_t columns = row.fields.size();
  const std::size_t review = needed_column(row, text_names, sink.file());
  const std::size_t label = needed_column(row, label_names, sink.file());
  while (rows.next(row)) {
    if (!row.fault.empty()) {
      sink.bad(row.line, row.fault);
    } else if (row.fields.size() != columns) {
      sink.bad(row.line, fmt::format("{} field{} where the first line names {} columns", row.fields.size(),
                                     row.fields.size() == 1 ? "" : "s", columns));
    } else {
      sink.add(row.line, row.fields[review], row.fields[label]);
    }
  }
}

}  // namespace pencil::imdb
