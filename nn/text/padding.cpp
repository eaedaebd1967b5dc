#include "nn/text/padding.hpp"

#include <algorithm>

#include "autograd/error.hpp"

namespace pencil::nn::text {

void pad_into(std::span<std::int32_t> row, std::span<const std::int32_t> numbers, const Padding& padding) {
  if (row.empty()) fail("[pad] length is 0; need 1 or more");
  if (numbers.size() > row.size())
    numbers = padding.chop == End::post ? numbers.first(row.size()) : numbers.last(row.size());
  const auto kept = padding.fill == End::post ? row.first(numbers.size()) : row.last(numbers.size());
  const auto rest =
      padding.fill == End::post ? row.subspan(numbers.size()) : row.first(row.size() - numbers.size());
  std::copy(numbers.begin(), numbers.end(), kept.begin());
  std::fill(rest.begin(), rest.end(), padding.value);
}

std::vector<std::int32_t> pad(std::span<const std::int32_t> numbers, std::int64_t length,
                              const Padding& padding) {
  if (length < 1) fail("[pad] length is {}; need 1 or more", length);
  std::vector<std::int32_t> row(static_cast<std::size_t>(length));
  pad_into(row, numbers, padding);
  return row;
}

}  // namespace pencil::nn::text
