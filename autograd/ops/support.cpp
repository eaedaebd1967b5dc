#include "autograd/ops/support.hpp"

#include <algorithm>
#include <set>

#include "autograd/create.hpp"
#include "autograd/kernels/layout.hpp"

namespace pencil::detail {

static std::set<std::string>& words() {
  static std::set<std::string> all;
  return all;
}

Op built_in(std::string word, OpParts parts) {
  words().insert(word);
  return {std::move(word), std::move(parts)};
}

std::vector<std::string> built_in_words() { return {words().begin(), words().end()}; }

void need_float(const char* who, const Tensor& x) {
  if (!is_float(x.dtype()))
    fail("[{}] needs f32 or f64; the tensor of shape {} is i32: cast with .to(f32)", who, x.shape());
}

void need_floats(const char* who, const Tensor& a, const Tensor& b) {
  need_float(who, a);
  need_float(who, b);
  if (a.dtype() != b.dtype())
    fail("[{}] dtypes differ: {} of shape {} and {} of shape {}; cast one with .to", who, name_of(a.dtype()),
         a.shape(), name_of(b.dtype()), b.shape());
}

void need_i32(const char* who, const char* what, const Tensor& x) {
  if (x.dtype() != i32)
    fail("[{}] the {} must be i32; the tensor of shape {} is {}: cast with .to(i32)", who, what, x.shape(),
         name_of(x.dtype()));
}

Shape broadcast_floats(const char* who, Inputs in) {
  Shape shape = in[0].shape();
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (!is_float(in[i].dtype())) fail("[{}] input {} is i32; need f32 or f64, cast with .to(f32)", who, i);
    if (in[i].dtype() != in[0].dtype())
      fail("[{}] dtypes differ: {} and {}; convert one with .to(…)", who, name_of(in[0].dtype()),
           name_of(in[i].dtype()));
    if (i) shape = broadcast(shape, in[i].shape(), who);
  }
  return shape;
}

std::vector<std::int64_t> sizes(const Shape& shape) { return {shape.begin(), shape.end()}; }

Shape shape_of(const Attributes& attributes, std::string_view name) {
  return Shape(std::span(attributes.get<std::vector<std::int64_t>>(name)));
}

int axis_of(const Attributes& attributes) { return static_cast<int>(attributes.get<std::int64_t>("axis")); }

Tensor moved(const Tensor& x, std::span<const double> direction, double factor) {
  Tensor y = empty(x.shape(), f64);
  const auto from = x.values<double>();
  const auto to = y.writable<double>();
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = from[i] + factor * direction[i];
  return y;
}

Around::Around(const Shape& shape, int axis) : size(shape[axis]) {
  for (int i = 0; i < axis; ++i) outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
}

std::function<Work(const WorkSizes&, const Attributes&)> work_per_number(double forward, double backward) {
  return [=](const WorkSizes& sizes, const Attributes&) {
    const auto numbers = static_cast<double>(sizes.inputs[0].size());
    return Work{forward * numbers, sizes.needs[0] ? backward * numbers : 0};
  };
}

Work formula_work(const WorkSizes& sizes, const Attributes&) {
  const auto numbers = static_cast<double>(sizes.output.size());
  Work work{numbers, 0};
  for (std::size_t i = 0; i < sizes.inputs.size(); ++i) work.backward += sizes.needs[i] ? numbers : 0;
  return work;
}

Tensor spread_copy(const Tensor& x, const Shape& shape) {
  std::array<std::int64_t, Shape::max_rank> from;
  from.fill(1);
  const int missing = shape.rank() - x.rank();
  std::ranges::copy(x.shape(), from.begin() + missing);
  Tensor y = empty(shape, x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    kernels::broadcast_to(shape.rank(), from.data(), shape.sizes().data(), x.values<T>().data(),
                          y.writable<T>().data());
  });
  return y;
}

Tensor permuted(const Tensor& x, std::span<const int> axes) {
  Shape shape = x.shape();
  for (std::size_t i = 0; i < axes.size(); ++i) shape = shape.with(static_cast<int>(i), x.size(axes[i]));
  Tensor y = empty(shape, x.dtype());
  dispatch(x.dtype(), [&]<class T>(T) {
    kernels::permute(x.rank(), x.shape().sizes().data(), axes.data(), x.values<T>().data(),
                     y.writable<T>().data());
  });
  return y;
}

Tensor axis_to_end(const Tensor& x, int axis) {
  if (axis == x.rank() - 1) return x;
  std::vector<int> axes;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) axes.push_back(i);
  axes.push_back(axis);
  return permuted(x, axes);
}

Tensor axis_from_end(const Tensor& x, int axis) {
  if (axis == x.rank() - 1) return x;
  std::vector<int> axes;
  for (int i = 0; i < x.rank() - 1; ++i) axes.push_back(i);
  axes.insert(axes.begin() + axis, x.rank() - 1);
  return permuted(x, axes);
}

}  // namespace pencil::detail
