#include "autograd/shape.hpp"

#include <fmt/ranges.h>

#include <algorithm>

namespace pencil {

Shape::Shape(std::span<const std::int64_t> sizes) {
  if (sizes.size() > max_rank) fail("[shape] {} axes given; a tensor has at most {}", sizes.size(), max_rank);
  rank_ = static_cast<int>(sizes.size());
  constexpr std::int64_t limit = std::int64_t{1} << 62;
  std::int64_t nonzero = 1;  // a size of 0 must not hide an overflow of the others
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0) fail("[shape] axis {} has size {}; sizes are 0 or more", i, sizes[i]);
    if (sizes[i] > 0 && nonzero > limit / sizes[i])
      fail("[shape] {} axes multiply to more than 2^62 numbers (axis {} has size {})", sizes.size(), i,
           sizes[i]);
    sizes_[i] = sizes[i];
    size_ *= sizes[i];
    nonzero *= std::max<std::int64_t>(sizes[i], 1);
  }
}

int Shape::resolve(int axis, const char* who) const {
  const int resolved = axis < 0 ? axis + rank_ : axis;
  if (resolved < 0 || resolved >= rank_)
    fail("[{}] there is no axis {}: the shape is {}, so axes run from {} to {}", who, axis, *this, -rank_,
         rank_ - 1);
  return resolved;
}

Shape Shape::with(int axis, std::int64_t size) const {
  auto sizes = sizes_;
  sizes[static_cast<std::size_t>(resolve(axis, "shape"))] = size;
  return Shape(std::span(sizes.data(), static_cast<std::size_t>(rank_)));
}

Shape Shape::without(int axis) const {
  const int gone = resolve(axis, "shape");
  auto sizes = sizes_;
  std::copy(sizes.begin() + gone + 1, sizes.end(), sizes.begin() + gone);
  return Shape(std::span(sizes.data(), static_cast<std::size_t>(rank_ - 1)));
}

Shape Shape::inserted(int axis, std::int64_t size) const {
  if (rank_ == max_rank) fail("[shape] {} has {} axes already, no more can be added", *this, max_rank);
  const int at = axis < 0 ? axis + rank_ + 1 : axis;
  if (at < 0 || at > rank_)
    fail("[shape] cannot put a new axis at {} of {}: need {} to {}", axis, *this, -rank_ - 1, rank_);
  auto sizes = sizes_;
  std::copy_backward(sizes.begin() + at, sizes.begin() + rank_, sizes.begin() + rank_ + 1);
  sizes[static_cast<std::size_t>(at)] = size;
  return Shape(std::span(sizes.data(), static_cast<std::size_t>(rank_ + 1)));
}

Shape broadcast(const Shape& a, const Shape& b, const char* who) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  std::array<std::int64_t, Shape::max_rank> sizes{};
  for (int i = 1; i <= rank; ++i) {
    const std::int64_t x = i <= a.rank() ? a[-i] : 1, y = i <= b.rank() ? b[-i] : 1;
    if (x != y && x != 1 && y != 1)
      fail("[{}] shapes do not broadcast: {} and {} differ at axis {} ({} against {}); need equal sizes or 1",
           who, a, b, -i, x, y);
    sizes[static_cast<std::size_t>(rank - i)] = x == 1 ? y : x;
  }
  return Shape(std::span(sizes.data(), static_cast<std::size_t>(rank)));
}

std::vector<std::int64_t> index_of(const Shape& shape, std::int64_t flat) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const std::int64_t size = std::max<std::int64_t>(1, shape[axis]);
    index[static_cast<std::size_t>(axis)] = flat % size;
    flat /= size;
  }
  return index;
}

std::string index_text(const Shape& shape, std::int64_t flat) {
  return fmt::format("[{}]", fmt::join(index_of(shape, flat), ", "));
}

std::string to_string(const Shape& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.rank(); ++i) text += fmt::format("{}{}", i ? ", " : "", shape[i]);
  return text + ")";
}

}  // namespace pencil

fmt::format_context::iterator fmt::formatter<pencil::Shape>::format(const pencil::Shape& shape,
                                                                    fmt::format_context& context) const {
  return fmt::formatter<fmt::string_view>::format(pencil::to_string(shape), context);
}
