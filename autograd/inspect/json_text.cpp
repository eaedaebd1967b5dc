#include "autograd/inspect/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace pencil::inspect {

namespace {

bool stands_for_itself(char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

}  // namespace

void JsonText::begin() {
  if (!first_ && !named_) to_ += ',';
  if (broken_) to_ += '\n';
  first_ = named_ = broken_ = false;
}

void JsonText::open(char bracket) {
  begin();
  to_ += bracket;
  first_ = true;
}

void JsonText::close(char bracket) {
  if (broken_) to_ += '\n';
  to_ += bracket;
  first_ = broken_ = false;
}

JsonText& JsonText::key(std::string_view name) {
  text(name);
  to_ += ':';
  named_ = true;
  return *this;
}

void JsonText::text(std::string_view value) {
  begin();
  if (std::ranges::all_of(value, stands_for_itself)) {
    to_ += '"';
    to_ += value;
    to_ += '"';
  } else {
    to_ += nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
}

void JsonText::boolean(bool value) {
  begin();
  to_ += value ? "true" : "false";
}

void JsonText::null() {
  begin();
  to_ += "null";
}

void JsonText::number(std::int64_t value) {
  begin();
  const fmt::format_int digits(value);
  to_.append(digits.data(), digits.size());
}

template <class T>
static void append_float(std::string& to, T value) {
  if (!std::isfinite(value)) {
    to += std::isnan(value) ? "\"nan\"" : value < 0 ? "\"-inf\"" : "\"inf\"";
    return;
  }
  if (value == 0) {  // "-0" reads back as a whole number, which has no sign
    to += std::signbit(value) ? "-0.0" : "0";
    return;
  }
  std::array<char, 32> digits;
  to.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

void JsonText::number(float value) {
  begin();
  append_float(to_, value);
}

void JsonText::number(double value) {
  begin();
  append_float(to_, value);
}

}  // namespace pencil::inspect
