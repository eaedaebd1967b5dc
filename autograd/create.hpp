#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "autograd/random.hpp"
#include "autograd/tensor.hpp"

namespace pencil {

Tensor zeros(const Shape& shape, DType dtype = f32);
Tensor ones(const Shape& shape, DType dtype = f32);
Tensor full(const Shape& shape, double value, DType dtype = f32);
/// first, first + step, … below `end`.
Tensor arange(double first, double end, double step = 1, DType dtype = f32);
/// 0, 1, … n − 1.
Tensor arange(std::int64_t n, DType dtype = f32);
/// Independent standard normal numbers.
Tensor randn(const Shape& shape, Rng& rng, DType dtype = f32);
/// Independent uniform numbers in [low, high). Throws Error unless low ≤ high, both finite.
Tensor uniform(const Shape& shape, double low, double high, Rng& rng, DType dtype = f32);

/// Numbers in braces, nested to the rank wanted: `tensor({{1, 2}, {3, 4}})` is 2 × 2. Throws where rows
/// differ in length.
class Nested {
 public:
  Nested(double number) : number_(number) {}  // NOLINT: a number is a tensor of rank 0
  Nested(std::initializer_list<Nested> parts) : parts_(parts), is_list_(true) {}

  Shape shape() const;
  void append_to(std::vector<double>& numbers) const;

 private:
  double number_ = 0;
  std::vector<Nested> parts_;
  bool is_list_ = false;
};
Tensor tensor(const Nested& numbers, DType dtype = f32);
/// A copy of numbers in memory, row-major, under a shape of that size.
Tensor tensor(std::span<const float> numbers, const Shape& shape);
Tensor tensor(std::span<const double> numbers, const Shape& shape);
Tensor tensor(std::span<const std::int32_t> numbers, const Shape& shape);

}  // namespace pencil
