#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/dtype.hpp"
#include "autograd/shape.hpp"

namespace pencil {

using Where = std::source_location;

namespace detail {
struct Body;
}

/// A tensor is a value: a cheap handle on row-major numbers that never change. Copies share. Only a parameter
/// (see `parameter`) can be written, by `assign` and by optimizers, and each write raises its version;
/// whoever shared its numbers before keeps the old ones.
///
/// A default-made Tensor is no tensor at all: `defined()` is false and every other question throws.
/// There is no operator==: `equal(a, b)` compares number by number, `same(a, b)` asks for the same handle.
/// Which row, and the line that asks for it; made silently from an integer.
struct RowIndex {
  RowIndex(std::int64_t row, Where at = Where::current()) : index(row), where(at) {}  // NOLINT
  std::int64_t index;
  Where where;
};

class Tensor {
 public:
  Tensor() noexcept = default;
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept : body_(std::exchange(other.body_, nullptr)) {}
  Tensor& operator=(Tensor other) noexcept { return std::swap(body_, other.body_), *this; }
  ~Tensor();

  bool defined() const { return body_ != nullptr; }
  const Shape& shape() const;
  DType dtype() const;
  int rank() const { return shape().rank(); }
  /// How many numbers.
  std::int64_t size() const { return shape().size(); }
  /// The size of one axis; negative axes count from the end.
  std::int64_t size(int axis) const { return shape()[axis]; }

  /// The numbers, row-major. T is float, double or std::int32_t and must match the dtype.
  template <class T>
  std::span<const T> values() const {
    return {static_cast<const T*>(read(dtype_of<T>())), static_cast<std::size_t>(size())};
  }
  /// A copy of the numbers, converted to T; whole numbers by dropping the fraction. Throws Error for NaN and
  /// what T does not hold.
  template <class T = double>
  std::vector<T> to_vector() const;
  /// The number of a tensor that holds exactly one. Throws Error for any other size.
  double item() const;

  /// Where an op or a reader fills in a tensor it has just made with `empty`: throws once the tensor is
  /// shared or on a tape. For a parameter it is a write in place: raises the version and notes the caller's
  /// line.
  template <class T>
  std::span<T> writable(Where where = Where::current()) {
    return {static_cast<T*>(write(dtype_of<T>(), where)), static_cast<std::size_t>(size())};
  }

  /// A name for printed tapes. `named` gives a tensor one; a parameter is made with one.
  const std::string& name() const;

  // A parameter's own.
  bool is_parameter() const;
  /// Replaces a parameter's numbers (same shape and dtype). Throws for a tensor that is no parameter.
  void assign(const Tensor& numbers, Where where = Where::current());
  /// How often a parameter has been written; 0 for every other tensor.
  std::uint32_t version() const;
  /// The line of the last write; line 0 if there was none.
  Where written() const;
  /// A frozen parameter gets no gradient on tapes that meet it from now on.
  bool frozen() const;
  void set_frozen(bool frozen) const;
  /// The gradient `backward` has added up. Throws if there is none (which is not the same as 0).
  Tensor grad() const;
  bool has_grad() const;
  void clear_grad() const;
  /// Adds to the gradient, under the parameter's lock.
  void add_grad(const Tensor& gradient) const;

  // Ops on the tape, spelled as members (autograd/ops defines them).
  /// Converted to another dtype. To i32: truncated, a mark that ends the chain of gradients; NaN or what does
  /// not fit throws.
  Tensor to(DType dtype, Where where = Where::current()) const;
  /// The same numbers, cut off from the tape: no gradient passes.
  Tensor detach(Where where = Where::current()) const;
  /// Row `index` of the first axis, which is dropped; negative indices count from the end.
  Tensor operator[](RowIndex index) const;

  friend bool operator==(const Tensor&, const Tensor&) = delete;  // equal(a, b) compares numbers

 private:
  friend struct detail::Body;
  explicit Tensor(detail::Body* body) noexcept : body_(body) {}
  detail::Body& body() const;
  const void* read(DType wanted) const;
  void* write(DType wanted, Where where);

  detail::Body* body_ = nullptr;
};

/// Two handles on the same tensor.
bool same(const Tensor& a, const Tensor& b);

/// A tensor of a shape whose numbers are not set yet; fill it through `writable`.
Tensor empty(const Shape& shape, DType dtype = f32);
/// The same numbers under another shape of the same size, shared, off the tape (`reshape` is the op).
Tensor with_shape(const Tensor& x, const Shape& shape);
/// The same numbers in storage of their own, off the tape: what a later write to a parameter does not touch.
Tensor copy(const Tensor& x);
/// Gives a tensor a name for printed tapes and returns it; every handle on it sees the name.
Tensor named(Tensor x, std::string name);
/// A leaf that collects a gradient: a copy of the numbers of `x` (f32 or f64). Every parameter has a
/// process-wide number of its own.
Tensor parameter(const Tensor& x, std::string name = "");

/// a + b for tensors of one shape and dtype, off the tape: what adds up gradients.
Tensor added(Tensor a, const Tensor& b);

template <>
std::vector<float> Tensor::to_vector() const;
template <>
std::vector<double> Tensor::to_vector() const;
template <>
std::vector<std::int32_t> Tensor::to_vector() const;
template <>
std::vector<std::int64_t> Tensor::to_vector() const;

/// "file.cpp:12", the file without its folders; "" for an unknown line.
std::string to_string(const Where& where);

namespace detail {

/// The numbers themselves, shared by handles that differ in shape or name.
struct Storage {
  std::atomic<std::uint32_t> uses{1};
  std::int64_t bytes;
  void* data;
};

/// What only parameters have.
struct Leaf {
  std::uint32_t version = 0;
  bool frozen = false;
  Where written;
  std::mutex lock;
  Tensor grad;
};

/// What all handles on one tensor share.
struct Body {
  std::atomic<std::uint32_t> uses{1};
  DType dtype = f32;
  bool number = false;     // made from a plain C++ number: printed in place, never a step of its own
  std::int32_t step = -1;  // the step that made it, on the tape with serial number `tape`
  std::uint64_t tape = 0;
  Storage* storage = nullptr;
  Shape shape;
  std::unique_ptr<Leaf> leaf;
  std::unique_ptr<std::string> name;

  static Body* of(const Tensor& tensor) { return tensor.body_; }
  static Tensor handle(Body* body) { return Tensor(body); }
  static Body* make(const Shape& shape, DType dtype, Storage* shared);
  static void drop(Body* body) noexcept;
};

}  // namespace detail

inline Tensor::Tensor(const Tensor& other) noexcept : body_(other.body_) {
  if (body_) body_->uses.fetch_add(1, std::memory_order_relaxed);
}

inline Tensor::~Tensor() {
  if (body_ && body_->uses.fetch_sub(1, std::memory_order_acq_rel) == 1) detail::Body::drop(body_);
}

inline detail::Body& Tensor::body() const {
  if (!body_)
    fail("[tensor] this Tensor was never given a value (default-made); make one with tensor, zeros, randn …");
  return *body_;
}

inline const Shape& Tensor::shape() const { return body().shape; }
inline DType Tensor::dtype() const { return body().dtype; }
inline bool Tensor::is_parameter() const { return body().leaf != nullptr; }
inline bool same(const Tensor& a, const Tensor& b) { return detail::Body::of(a) == detail::Body::of(b); }

}  // namespace pencil
