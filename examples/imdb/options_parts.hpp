// What the commands' options have in common; only options*.cpp include this.
#pragma once

#include <fmt/format.h>

#include <string>

#include "examples/imdb/options.hpp"

namespace pencil::imdb {

namespace po = boost::program_options;

/// What one command has to say about itself.
struct Usage {
  const char* name;
  const char* line;
  const char* about;
};

inline constexpr const char* one_text = "there is one text already; put a review in quotes";

/// A description of options that is empty yet.
inline po::options_description empty_options() { return po::options_description("Options", 110, 70); }
/// The options that all commands have.
void add_common(po::options_description& options);
inline const po::value_semantic* value(const char* name) {
  return po::value<std::string>()->value_name(name);
}

/// The answer to --help and --version.
std::optional<Answer> answer_of(const Arguments& arguments, const Usage& usage,
                                const po::options_description& options);

template <class T, class U>
void set(T& to, const std::optional<U>& value) {
  if (value) to = static_cast<T>(*value);
}
inline void set(std::optional<fs::path>& to, const Arguments& arguments, const std::string& name) {
  if (arguments.given(name)) to = arguments.needed(name);
}

Command parse_train(std::span<const std::string> words);
Command parse_explain(std::span<const std::string> words);
extern const Usage train_usage, explain_usage;

}  // namespace pencil::imdb
