#include "examples/imdb/review_sink.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

#include "autograd/error.hpp"
#include "nn/text/utf8.hpp"

namespace pencil::imdb {

std::string read_file(const std::filesystem::path& path) {
  const auto give_up = [&path](int error) {
    fail("[read] {}: {}", path.string(), std::generic_category().message(error));
  };
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  errno = 0;
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) give_up(errno);
  std::setvbuf(file.get(), nullptr, _IONBF, 0);

  std::string text;
  std::array<char, std::size_t{1} << 16> piece;
  for (;;) {
    errno = 0;
    const std::size_t got = std::fread(piece.data(), 1, piece.size(), file.get());
    if (got < piece.size() && std::ferror(file.get())) give_up(errno);
    if (text.empty() && got == piece.size()) {
      std::error_code unknown;  // of a pipe, for one
      const auto size = std::filesystem::file_size(path, unknown);
      if (!unknown) text.reserve(size);
    }
    text.append(piece.data(), got);
    if (got < piece.size()) break;
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return text;
}

std::int64_t tidy(std::string& text) {
  std::size_t kept = text.find('\r');
  if (kept != std::string::npos) {
    for (std::size_t i = kept; i < text.size(); ++i) {
      if (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n') continue;
      text[kept++] = text[i] == '\r' ? '\n' : text[i];
    }
    text.resize(kept);
  }
  return nn::text::replace_broken_bytes(text);
}

std::string plain_word(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  std::string word(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
  for (char& c : word)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  return word;
}

std::optional<int> label_of(std::string_view text) {
  if (text.size() > 100) return {};
  const std::string word = plain_word(text);
  if (word == "positive" || word == "pos" || word == "1") return 1;
  if (word == "negative" || word == "neg" || word == "0") return 0;
  return {};
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string shown(text.substr(0, longest));
  // A sequence cut in two by the limit is left out whole; anything else that is broken becomes spaces.
  if (text.size() > longest) {
    std::size_t cut = longest;
    while (cut > longest - 4 && (static_cast<unsigned char>(text[cut]) & 0xC0) == 0x80) --cut;
    shown.resize(cut);
  }
  nn::text::replace_broken_bytes(shown);
  for (char& c : shown)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  return fmt::format("\"{}{}\"", shown, text.size() > longest ? "…" : "");
}

ReviewSink::ReviewSink(std::string file, const ReadOptions& options)
    : file_(std::move(file)), options_(options) {}

void ReviewSink::add(std::int64_t line, std::string_view text, std::string_view label) {
  const std::optional<int> verdict = label_of(label);
  if (!verdict) {
    bad(line,
        plain_word(label).empty()
            ? std::string("it has no label")
            : fmt::format("label is {}; need positive or negative, pos or neg, 1 or 0", excerpt(label)));
    return;
  }
  Review review{std::string(text), *verdict};
  reading_.broken_bytes += tidy(review.text);
  reading_.reviews.push_back(std::move(review));
}

void ReviewSink::bad(std::int64_t line, std::string_view reason) {
  constexpr std::size_t told = 10;
  std::string fault = fmt::format("{}, line {}: {}", file_, line, reason);
  if (!options_.skip_bad) fail("[read] {} (--skip-bad leaves such rows out)", fault);
  ++reading_.bad_rows;
  if (reading_.faults.size() < told) reading_.faults.push_back(std::move(fault));
}

Reading ReviewSink::take() {
  if (reading_.reviews.empty()) {
    if (reading_.bad_rows > 0)
      fail("[read] {}: all {} rows are bad; the first: {}", file_, reading_.bad_rows,
           reading_.faults.front());
    fail("[read] {}: no reviews in it", file_);
  }
  return std::move(reading_);
}

}  // namespace pencil::imdb
