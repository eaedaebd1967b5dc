#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "autograd/error.hpp"

namespace pencil {

/// The sizes of a tensor's axes, row-major, the last axis running fastest. Rank 0 (a single number) to 8;
/// sizes may be 0. Throws Error for more than 8 axes, a negative size, or a product beyond 2^62.
class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes) : Shape(std::span(sizes.begin(), sizes.size())) {}
  explicit Shape(std::span<const std::int64_t> sizes);

  int rank() const { return rank_; }
  /// How many numbers: the product of all sizes, 1 for rank 0.
  std::int64_t size() const { return size_; }
  /// The size of an axis; negative axes count from the end. Throws for an axis that is not there.
  std::int64_t operator[](int axis) const { return sizes_[static_cast<std::size_t>(resolve(axis, "shape"))]; }
  /// A negative axis counted from the end, checked; `who` names the op in the error.
  int resolve(int axis, const char* who) const;

  std::span<const std::int64_t> sizes() const { return {sizes_.data(), static_cast<std::size_t>(rank_)}; }
  auto begin() const { return sizes().begin(); }
  auto end() const { return sizes().end(); }

  /// The same shape with one axis' size replaced, taken out, or a new axis put in before `axis`.
  Shape with(int axis, std::int64_t size) const;
  Shape without(int axis) const;
  Shape inserted(int axis, std::int64_t size) const;

  friend bool operator==(const Shape& a, const Shape& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a.sizes_[static_cast<std::size_t>(i)] != b.sizes_[static_cast<std::size_t>(i)]) return false;
    return true;
  }

 private:
  std::array<std::int64_t, max_rank> sizes_{};
  std::int64_t size_ = 1;
  int rank_ = 0;
};

/// NumPy's broadcasting: axes are matched from the right, a size of 1 stretches. Throws Error naming `who`
/// and both shapes where they do not fit.
Shape broadcast(const Shape& a, const Shape& b, const char* who);

/// Where number `flat` of a shape stands, row-major: an index for each axis.
std::vector<std::int64_t> index_of(const Shape& shape, std::int64_t flat);
/// The same as text: "[2, 0]"; "[]" for rank 0.
std::string index_text(const Shape& shape, std::int64_t flat);

/// "(2, 3)", "()" for rank 0.
std::string to_string(const Shape& shape);

}  // namespace pencil

template <>
struct fmt::formatter<pencil::Shape> : fmt::formatter<fmt::string_view> {
  fmt::format_context::iterator format(const pencil::Shape& shape, fmt::format_context& context) const;
};
