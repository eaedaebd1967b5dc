#include "autograd/files/npy.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "autograd/files/file.hpp"

namespace pencil {

using detail::Element;
using detail::FileReader;

namespace {

struct Header {
  std::optional<std::string> descr;
  std::optional<bool> fortran_order;
  std::optional<std::vector<std::int64_t>> shape;
};

/// The header is a Python dictionary with exactly three keys:
/// {'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const FileReader& file) : text_(text), file_(file) {}

  Header read() {
    Header header;
    need('{');
    while (!take('}')) {
      const std::string key = quoted();
      need(':');
      if (key == "descr") {
        once(header.descr.has_value(), key);
        if (peek() == '[')
          file_.refuse("holds records (descr is a list); arrays of one plain dtype can be read");
        header.descr = quoted();
      } else if (key == "fortran_order") {
        once(header.fortran_order.has_value(), key);
        header.fortran_order = boolean();
      } else if (key == "shape") {
        once(header.shape.has_value(), key);
        header.shape = tuple();
      } else {
        file_.refuse("its header has a key '{}'; there are only descr, fortran_order and shape", key);
      }
      if (!take(',')) {
        need('}');
        break;
      }
    }
    skip_spaces();
    if (at_ != text_.size()) unexpected("the end");
    if (!header.descr) file_.refuse("its header has no descr");
    if (!header.fortran_order) file_.refuse("its header has no fortran_order");
    if (!header.shape) file_.refuse("its header has no shape");
    return header;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  char peek() {
    skip_spaces();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    skip_spaces();
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }
  void need(char c) {
    if (!take(c)) unexpected(fmt::format("'{}'", c));
  }
  [[noreturn]] void unexpected(std::string_view wanted) const {
    file_.refuse("its header cannot be read at byte {}: need {}", at_, wanted);
  }
  void once(bool seen, const std::string& key) const {
    if (seen) file_.refuse("its header has the key '{}' twice", key);
  }

  std::string quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') unexpected("a text in quotes");
    const auto end = text_.find(quote, at_ + 1);
    if (end == text_.npos) unexpected("a closing quote");
    const std::string out(text_.substr(at_ + 1, end - at_ - 1));
    if (out.find('\\') != out.npos) unexpected("a text without escapes");
    at_ = end + 1;
    return out;
  }

  bool boolean() {
    if (take("True")) return true;
    if (take("False")) return false;
    unexpected("True or False");
  }

  std::vector<std::int64_t> tuple() {
    std::vector<std::int64_t> sizes;
    need('(');
    while (!take(')')) {
      std::int64_t size = 0;
      skip_spaces();
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0)
        unexpected("a size, a whole number from 0 that fits into 64 bits");
      at_ = static_cast<std::size_t>(end - text_.data());
      take('L');  // as Python 2 wrote long numbers
      sizes.push_back(size);
      if (take(',')) continue;
      if (sizes.size() == 1) unexpected("','");  // (3) is a number, (3,) a tuple
      need(')');
      break;
    }
    return sizes;
  }

  std::string_view text_;
  const FileReader& file_;
  std::size_t at_ = 0;
};

/// descr: the byte order (< > = |), the kind, the bytes a number takes: "<f8", "|b1".
Element element_of(const Header& header, const FileReader& file) {
  const std::string& descr = *header.descr;
  const auto unreadable = [&] {
    file.refuse("has dtype '{}'; f4, f8, b1 and whole numbers (i, u) can be read (convert it first)", descr);
  };
  if (descr.size() != 3) unreadable();
  const char order = descr[0], kind = descr[1], width = descr[2];
  if (order != '<' && order != '>' && order != '=' && order != '|') unreadable();
  Element element{.kind = Element::Kind::floating, .bytes = width - '0'};
  if (kind == 'i')
    element.kind = Element::Kind::whole;
  else if (kind == 'u')
    element.kind = Element::Kind::natural;
  else if (kind == 'b')
    element.kind = Element::Kind::boolean;
  else if (kind != 'f')
    unreadable();
  if (!element.readable()) unreadable();
  if (order == '|' && element.bytes > 1)
    file.refuse("has dtype '{}', which does not say its byte order", descr);
  element.swapped = order == '>';
  element.column_major = *header.fortran_order;
  return element;
}

}  // namespace

Tensor load_npy(const std::filesystem::path& path) {
  FileReader file(path, "npy");
  unsigned char start[12] = {};
  file.read(0, start, static_cast<std::size_t>(std::min<std::uint64_t>(file.size(), sizeof start)));
  if (file.size() < 10 || std::string_view(reinterpret_cast<char*>(start), 6) != "\x93NUMPY")
    file.refuse("does not begin with the mark of a .npy file");
  const int version = start[6];
  if (version < 1 || version > 3 || start[7] != 0)
    file.refuse("has format version {}.{}; 1.0, 2.0 and 3.0 can be read", start[6], start[7]);
  const std::uint64_t header_begin = version == 1 ? 10 : 12;
  if (file.size() < header_begin) file.refuse("ends within its header");
  std::uint64_t length = start[8] | std::uint64_t{start[9]} << 8;
  if (version > 1) length |= std::uint64_t{start[10]} << 16 | std::uint64_t{start[11]} << 24;
  if (length > file.size() - header_begin)
    file.refuse("says its header is {} bytes long, but only {} bytes follow", length,
                file.size() - header_begin);
  std::string text(length, '\0');
  file.read(header_begin, text.data(), length);
  const Header header = HeaderReader(text, file).read();

  const Element element = element_of(header, file);
  Shape shape;
  try {
    shape = Shape(*header.shape);
  } catch (const Error& error) {
    file.refuse("{}", error.what());
  }
  const std::uint64_t data_begin = header_begin + length, bytes = file.size() - data_begin;
  const auto width = static_cast<std::uint64_t>(element.bytes);
  if (bytes % width != 0 || bytes / width != static_cast<std::uint64_t>(shape.size()))
    file.refuse("holds {} bytes of numbers; shape {} of '{}' needs {} numbers of {} bytes", bytes, shape,
                *header.descr, shape.size(), width);
  return read_tensor(file, data_begin, shape, element, "the array");
}

}  // namespace pencil
