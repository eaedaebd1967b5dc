#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pencil::nn::text {

/// An end of a row: pre is its beginning, post its end (Keras's words).
enum class End : std::uint8_t { pre, post };

/// How a list of token numbers is made exactly as long as a row: where zeros fill a list that is too short,
/// and where one that is too long is chopped. Keras's pad_sequences(padding = fill, truncating = chop).
struct Padding {
  End fill = End::post;
  End chop = End::post;
  std::int32_t value = 0;
};

/// The first words stay and padding stands behind them.
inline constexpr Padding keep_first{.fill = End::post, .chop = End::post};
/// The last words stay and padding stands before them: Keras's own default.
inline constexpr Padding keep_last{.fill = End::pre, .chop = End::pre};

/// Writes the numbers into the row, filled or chopped to its length; a list as long as the row stays whole.
/// Throws for a row of length 0.
void pad_into(std::span<std::int32_t> row, std::span<const std::int32_t> numbers,
              const Padding& padding = {});

/// The numbers, filled or chopped to the length. Throws for a length below 1.
std::vector<std::int32_t> pad(std::span<const std::int32_t> numbers, std::int64_t length,
                              const Padding& padding = {});

}  // namespace pencil::nn::text
