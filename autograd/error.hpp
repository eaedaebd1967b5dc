#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace pencil {

/// What a user's mistake throws. The text says what came, what was needed and where:
/// `[matmul] inner sizes differ: left is (32, 784), right is (10, 784); need left[-1] == right[-2]`.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Error with a formatted text.
template <class... Arguments>
[[noreturn]] void fail(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw Error(fmt::format(text, std::forward<Arguments>(arguments)...));
}

}  // namespace pencil
