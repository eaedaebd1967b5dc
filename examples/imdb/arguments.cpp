#include "examples/imdb/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/cmdline.hpp>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/parsers.hpp>
#include <charconv>
#include <filesystem>

#include "examples/imdb/review_sink.hpp"
#include "nn/text/utf8.hpp"

namespace pencil::imdb {

namespace po = boost::program_options;
namespace fs = std::filesystem;

namespace {

[[noreturn]] void refuse(const std::string& name, const std::string& value, const std::string& need) {
  throw UsageError(fmt::format("--{} is {}; need {}", name, excerpt(value), need));
}

/// What Boost says holds the user's words as they are.
std::string one_line(std::string text) {
  nn::text::replace_broken_bytes(text);
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7f; }, ' ');
  return text;
}

/// The whole text as a number, or nothing.
template <class T>
std::optional<T> parsed(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end) return {};
  return value;
}

}  // namespace

Arguments::Arguments(const po::options_description& options, std::span<const std::string> words) {
  try {
    const po::parsed_options found =
        po::command_line_parser(std::vector<std::string>(words.begin(), words.end()))
            .options(options)
            .style(po::command_line_style::unix_style & ~po::command_line_style::allow_guessing)
            .run();
    for (const po::option& option : found.options)
      if (option.position_key >= 0) others_.insert(others_.end(), option.value.begin(), option.value.end());
    po::store(found, values_);
  } catch (const po::error& error) {
    throw UsageError(one_line(error.what()));
  }
}

bool Arguments::given(const std::string& name) const { return values_.count(name) > 0; }

std::optional<std::string> Arguments::text(const std::string& name) const {
  if (!given(name)) return {};
  return values_[name].as<std::string>();
}

std::optional<std::int64_t> Arguments::whole(const std::string& name, std::int64_t low,
                                             std::int64_t high) const {
  const std::optional<std::string> value = text(name);
  if (!value) return {};
  const std::optional<std::int64_t> n = parsed<std::int64_t>(*value);
  if (!n || *n < low || *n > high)
    refuse(name, *value, fmt::format("a whole number from {} to {}", low, high));
  return n;
}

std::optional<std::uint64_t> Arguments::seed(const std::string& name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return {};
  const std::optional<std::uint64_t> n = parsed<std::uint64_t>(*value);
  if (!n) refuse(name, *value, "a whole number from 0 to 18446744073709551615");
  return n;
}

std::optional<double> Arguments::number(const std::string& name, const Range& range) const {
  const std::optional<std::string> value = text(name);
  if (!value) return {};
  const std::optional<double> x = parsed<double>(*value);
  const bool fits = x && (range.low_open ? *x > range.low : *x >= range.low) &&
                    (range.high_open ? *x < range.high : *x <= range.high);
  if (!fits)
    refuse(name, *value,
           fmt::format("a number {} {} and {} {}", range.low_open ? "above" : "from", range.low,
                       range.high_open ? "below" : "up to", range.high));
  return x;
}

std::optional<std::size_t> Arguments::choice(const std::string& name,
                                             std::initializer_list<std::string_view> allowed) const {
  const std::optional<std::string> value = text(name);
  if (!value) return {};
  const auto found = std::find(allowed.begin(), allowed.end(), *value);
  if (found == allowed.end()) refuse(name, *value, fmt::format("{}", fmt::join(allowed, " or ")));
  return static_cast<std::size_t>(found - allowed.begin());
}

std::optional<NumberAt> Arguments::number_at(const std::string& name) const {
  const std::optional<std::string> value = text(name);
  if (!value) return {};
  const auto whole = [&](std::string_view part) {
    const std::optional<std::int32_t> n = parsed<std::int32_t>(part);
    if (!n || *n < 0) refuse(name, *value, "a step and the place of a number in it, like 12:0,3");
    return *n;
  };
  const std::size_t colon = value->find(':');
  NumberAt at{whole(std::string_view(*value).substr(0, colon)), {}};
  for (std::size_t begin = colon; begin != std::string::npos;) {
    const std::size_t end = value->find(',', ++begin);
    at.index.push_back(whole(std::string_view(*value).substr(begin, end - begin)));
    begin = end;
  }
  return at;
}

void Arguments::exclude(const std::string& one, const std::string& other) const {
  if (given(one) && given(other))
    throw UsageError(fmt::format("--{} and --{} exclude each other", one, other));
}

void Arguments::need_with(const std::string& one, const std::string& other) const {
  if (given(one) && !given(other)) throw UsageError(fmt::format("--{} needs --{}", one, other));
}

void Arguments::need_different_files(std::initializer_list<const char*> names) const {
  const auto plain = [&](const char* name) { return fs::absolute(*text(name)).lexically_normal(); };
  for (const char* const* a = names.begin(); a != names.end(); ++a)
    for (const char* const* b = a + 1; b != names.end(); ++b)
      if (given(*a) && given(*b) && plain(*a) == plain(*b))
        throw UsageError(fmt::format("--{} and --{} name the same file", *a, *b));
}

std::string Arguments::needed(const std::string& name) const {
  const std::optional<std::string> value = text(name);
  if (!value) throw UsageError(fmt::format("--{} is missing", name));
  if (value->empty()) refuse(name, *value, "a path");
  return *value;
}

void Arguments::at_most_others(std::size_t most, std::string_view what) const {
  if (others_.size() > most) throw UsageError(fmt::format("unexpected {}: {}", excerpt(others_[most]), what));
}

}  // namespace pencil::imdb
