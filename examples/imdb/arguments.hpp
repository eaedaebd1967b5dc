#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace pencil::imdb {

/// Wrong usage: the reason in one line. The program prints it and ends with status 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Between which numbers an option's value may lie; the ends belong to it unless they are open.
struct Range {
  double low, high;
  bool low_open = false, high_open = false;
};

/// One number of a tape: "12:0,3" is step 12, row 0, column 3.
struct NumberAt {
  int step = 0;
  std::vector<std::int64_t> index;
};

/// The words behind a command, taken apart. Option names are never guessed from prefixes, nothing may be
/// given twice, and `--` ends the options. Throws UsageError that names the option, its value and what is
/// allowed.
class Arguments {
 public:
  /// Options without a value are switches; the values of all others are texts at first.
  Arguments(const boost::program_options::options_description& options, std::span<const std::string> words);

  /// Whether the command line has the option (a default does not count).
  bool given(const std::string& name) const;
  std::optional<std::string> text(const std::string& name) const;
  std::optional<std::int64_t> whole(const std::string& name, std::int64_t low, std::int64_t high) const;
  std::optional<std::uint64_t> seed(const std::string& name) const;
  std::optional<double> number(const std::string& name, const Range& range) const;
  /// The place of the value among those allowed.
  std::optional<std::size_t> choice(const std::string& name,
                                    std::initializer_list<std::string_view> allowed) const;
  std::optional<NumberAt> number_at(const std::string& name) const;
  /// A text that must be there and not be empty.
  std::string needed(const std::string& name) const;

  /// Throws where both are given.
  void exclude(const std::string& one, const std::string& other) const;
  /// Throws where one is given without the other.
  void need_with(const std::string& one, const std::string& other) const;
  /// Throws where two of these options name one file, in whatever way it is written but for links.
  void need_different_files(std::initializer_list<const char*> names) const;

  /// The words that are no options, in order.
  const std::vector<std::string>& others() const { return others_; }
  /// Throws unless there are at most so many of them.
  void at_most_others(std::size_t most, std::string_view what) const;

 private:
  boost::program_options::variables_map values_;
  std::vector<std::string> others_;
};

}  // namespace pencil::imdb
