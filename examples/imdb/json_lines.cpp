#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "examples/imdb/review_sink.hpp"
#include "nn/text/utf8.hpp"

namespace pencil::imdb {
namespace {

/// A value of the object on a line, as far as it matters.
struct Value {
  enum class Kind : std::uint8_t { missing, null, string, number, other };
  Kind kind = Kind::missing;
  std::string text;
  bool there() const { return kind != Kind::missing && kind != Kind::null; }
};

/// Picks our columns out of one JSON object and lets the rest pass by, however deep it is.
class Line : public nlohmann::json::json_sax_t {
 public:
  Value review, text, sentiment, label;
  std::string fault;
  bool is_object = false;

  bool null() override { return scalar(Value::Kind::null, {}); }
  bool boolean(bool value) override { return scalar(Value::Kind::number, value ? "1" : "0"); }
  bool number_integer(number_integer_t value) override {
    return scalar(Value::Kind::number, std::to_string(value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return scalar(Value::Kind::number, std::to_string(value));
  }
  bool number_float(number_float_t, const string_t& written) override {
    return scalar(Value::Kind::number, written);
  }
  bool string(string_t& value) override { return scalar(Value::Kind::string, std::move(value)); }
  bool binary(binary_t&) override { return scalar(Value::Kind::other, {}); }
  bool start_object(std::size_t) override {
    if (depth_ == 0) is_object = true;
    return open();
  }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    const std::string plain = plain_word(name);
    at_ = plain == "review"      ? &review
          : plain == "text"      ? &text
          : plain == "sentiment" ? &sentiment
          : plain == "label"     ? &label
                                 : nullptr;
    if (at_ == nullptr || at_->kind == Value::Kind::missing) return true;
    fault = fmt::format("the key {} stands twice", plain);
    return false;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    fault = fmt::format("no JSON at column {}", position);
    return false;
  }

 private:
  bool scalar(Value::Kind kind, std::string value) {
    if (at_ != nullptr) *std::exchange(at_, nullptr) = {kind, std::move(value)};
    return true;
  }
  bool open() {
    if (at_ != nullptr) *std::exchange(at_, nullptr) = {Value::Kind::other, {}};
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  Value* at_ = nullptr;  // where the next value goes: set by one of our keys, until its value comes
  std::size_t depth_ = 0;
};

void read_line(std::string_view line, std::int64_t number, ReviewSink& sink) {
  std::string mended(line);
  sink.add_broken_bytes(nn::text::replace_broken_bytes(mended));
  Line found;
  nlohmann::json::sax_parse(mended, &found);
  if (!found.fault.empty()) return sink.bad(number, found.fault);
  if (!found.is_object) return sink.bad(number, "no JSON object; need one object a line");
  const Value& text = found.review.there() ? found.review : found.text;
  const Value& label = found.sentiment.there() ? found.sentiment : found.label;
  if (text.kind == Value::Kind::missing)
    return sink.bad(number, fmt::format("no key {}", fmt::join(text_names, " or ")));
  if (text.kind == Value::Kind::null) return sink.bad(number, "the review is null");
  if (text.kind != Value::Kind::string) return sink.bad(number, "the review is no string");
  if (label.kind == Value::Kind::other) return sink.bad(number, "the label is no string or number");
  sink.add(number, text.text, label.text);
}

}  // namespace

void read_json_lines(std::string_view text, ReviewSink& sink) {
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) read_line(line, number, sink);
  }
}

}  // namespace pencil::imdb
