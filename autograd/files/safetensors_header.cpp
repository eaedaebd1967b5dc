#include "autograd/files/safetensors_header.hpp"

#include <fmt/ranges.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "autograd/error.hpp"

namespace pencil::detail {

namespace {

using nlohmann::json;

/// Takes the parser's events: {"__metadata__": {key: text …}, name: {"dtype": text, "shape": [sizes],
/// "data_offsets": [begin, end]} …}. An event out of place throws at once, so nothing nests deeper than that.
class HeaderReader final : public json::json_sax_t {
 public:
  explicit HeaderReader(Header& header) : header_(header) {}

  bool key(string_t& name) override {
    if (place_ == Place::tensors) {
      if (!names_.insert(name).second) fail("the name '{}' comes twice", name);
      if (name != "__metadata__") header_.entries.push_back({.name = name, .dtype = {}, .shape = {}});
      in_metadata_ = name == "__metadata__";
    } else if (place_ == Place::metadata) {
      if (header_.metadata.contains(name)) fail("the metadata key '{}' comes twice", name);
    } else {
      field_ = name == "dtype" ? dtype : name == "shape" ? shape : name == "data_offsets" ? offsets : none;
      if (field_ == none)
        fail("tensor '{}' has a field '{}'; there are only dtype, shape and data_offsets", entry().name,
             name);
      if (seen_ & field_) fail("tensor '{}' has its field '{}' twice", entry().name, name);
      seen_ |= field_;
    }
    key_ = name;
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::outside) {
      place_ = Place::tensors;
    } else if (place_ == Place::tensors) {
      place_ = in_metadata_ ? Place::metadata : Place::tensor;
      seen_ = 0;
    } else {
      unexpected("an object");
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::tensor && seen_ != (dtype | shape | offsets))
      fail("tensor '{}' has no {}", entry().name,
           !(seen_ & dtype)   ? "dtype"
           : !(seen_ & shape) ? "shape"
                              : "data_offsets");
    place_ = place_ == Place::tensors ? Place::outside : Place::tensors;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::tensor || field_ == dtype) unexpected("a list");
    place_ = Place::list;
    numbers_.clear();
    return true;
  }

  bool end_array() override {
    place_ = Place::tensor;
    if (field_ == shape) {
      for (const std::uint64_t n : numbers_) {
        if (n > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
          fail("tensor '{}' has an axis of size {}", entry().name, n);
        entry().shape.push_back(static_cast<std::int64_t>(n));
      }
    } else {
      if (numbers_.size() != 2)
        fail("tensor '{}' has {} data_offsets; need 2, begin and end", entry().name, numbers_.size());
      entry().begin = numbers_[0];
      entry().end = numbers_[1];
    }
    return true;
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::list) unexpected("a number");
    numbers_.push_back(value);
    return true;
  }

  bool string(string_t& text) override {
    if (place_ == Place::metadata) {
      header_.metadata.emplace(key_, text);
    } else if (place_ == Place::tensor && field_ == dtype) {
      entry().dtype = text;
    } else {
      unexpected("a text");
    }
    return true;
  }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("true or false"); }
  bool number_integer(number_integer_t) override { return unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t& text) override {
    return unexpected(fmt::format("the number {}", text));
  }
  bool binary(binary_t&) override { return unexpected("bytes"); }
  bool parse_error(std::size_t position, const std::string&, const json::exception& error) override {
    fail("the header is no JSON, at its byte {}: {}", position, error.what());
  }

 private:
  enum class Place { outside, tensors, metadata, tensor, list };
  enum Field : unsigned { none = 0, dtype = 1, shape = 2, offsets = 4 };

  TensorEntry& entry() { return header_.entries.back(); }

  [[noreturn]] bool unexpected(std::string_view what) const {
    switch (place_) {
      case Place::outside:
        fail("the header is {}; need an object of tensors", what);
      case Place::tensors:
        fail("'{}' is {}; need an object", key_, what);
      case Place::metadata:
        fail("the metadata '{}' is {}; need a text", key_, what);
      default:
        fail("tensor '{}' has {} in its {}; need {}", header_.entries.back().name, what, key_,
             field_ == dtype ? "a text" : "a list of whole numbers");
    }
  }

  Header& header_;
  Place place_ = Place::outside;
  bool in_metadata_ = false;
  Field field_ = none;
  unsigned seen_ = 0;
  std::string key_;
  std::vector<std::uint64_t> numbers_;
  std::unordered_set<std::string> names_;
};

std::string quoted(const std::string& text) {
  try {
    return json(text).dump();
  } catch (const json::exception&) {
    fail("the text '{}' is no UTF-8, which the format asks for",
         json(text).dump(-1, ' ', false, json::error_handler_t::replace));
  }
}

}  // namespace

Header parse_header(std::string_view text) {
  if (text.empty() || text[0] != '{') fail("the header does not begin with '{{'");
  // The parser takes a zero byte for the end of its input.
  if (const auto zero = text.find('\0'); zero != text.npos)
    fail("the header has a zero byte at its byte {}", zero);
  Header header;
  HeaderReader reader(header);
  json::sax_parse(text.begin(), text.end(), &reader);
  return header;
}

std::string header_text(const Header& header) {
  std::string text = "{";
  if (!header.metadata.empty()) {
    text += "\"__metadata__\":{";
    for (const auto& [key, value] : header.metadata) text += quoted(key) + ':' + quoted(value) + ',';
    text.back() = '}';
    text += ',';
  }
  for (const TensorEntry& entry : header.entries)
    text += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}},)", quoted(entry.name),
                        entry.dtype, fmt::join(entry.shape, ","), entry.begin, entry.end);
  if (text.size() > 1)
    text.back() = '}';
  else
    text += '}';
  text.append((8 - text.size() % 8) % 8, ' ');
  return text;
}

}  // namespace pencil::detail
