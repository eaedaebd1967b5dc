#pragma once

// JSON written as it comes, a piece at a time, for documents too long to stand in memory.

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace pencil::inspect {

/// Appends JSON to a text. The caller opens and closes; commas come of themselves.
class JsonText {
 public:
  explicit JsonText(std::string& to) : to_(to) {}

  void open(char bracket);   // { or [
  void close(char bracket);  // } or ]
  /// A name; its value comes next.
  JsonText& key(std::string_view name);
  /// Quotes, control characters and backslashes are escaped, invalid UTF-8 is replaced by U+FFFD.
  void text(std::string_view value);
  void boolean(bool value);
  void null();
  void number(std::int64_t value);
  void number(std::int32_t value) { number(std::int64_t{value}); }
  /// The fewest digits that read back as the same float or double; "nan", "inf" and "-inf" for what JSON has
  /// no number for.
  void number(float value);
  void number(double value);
  /// A line break before the next value.
  void line_break() { broken_ = true; }

 private:
  void begin();

  std::string& to_;
  bool first_ = true;   // nothing stands yet since the bracket
  bool named_ = false;  // a key stands before
  bool broken_ = false;
};

}  // namespace pencil::inspect
