#include "autograd/tensor.hpp"

#include <cmath>
#include <cstring>
#include <new>

#include "autograd/pool.hpp"

namespace pencil {

namespace detail {
namespace {

// One block: the header, then the numbers at a 64-byte boundary, or right behind the header where they fit
// beside it.
constexpr std::size_t line = 64;
constexpr bool beside_header(std::size_t bytes) { return sizeof(Storage) + bytes <= line; }
constexpr std::size_t block_bytes(std::size_t bytes) { return beside_header(bytes) ? line : line + bytes; }

Storage* make_storage(std::size_t bytes) {
  auto* block = static_cast<std::byte*>(pool::allocate(block_bytes(bytes)));
  void* data = block + (beside_header(bytes) ? sizeof(Storage) : line);
  return ::new (block) Storage{.bytes = static_cast<std::int64_t>(bytes), .data = data};
}

void drop_storage(Storage* storage) noexcept {
  if (storage->uses.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  const auto bytes = static_cast<std::size_t>(storage->bytes);
  storage->~Storage();
  pool::release(storage, block_bytes(bytes));
}

}  // namespace

Body* Body::make(const Shape& shape, DType dtype, Storage* shared) {
  // Sizes end at 2^62, bytes far earlier: no machine addresses more, and the product must not overflow.
  if (constexpr std::int64_t most = std::int64_t{1} << 47; shape.size() > most / bytes_of(dtype))
    fail("[tensor] shape {} of {} takes more than 2^47 bytes; no memory holds it", shape, name_of(dtype));
  if (shared)
    shared->uses.fetch_add(1, std::memory_order_relaxed);
  else
    shared = make_storage(static_cast<std::size_t>(shape.size() * bytes_of(dtype)));
  Body* body = ::new (pool::allocate(sizeof(Body))) Body;
  body->dtype = dtype;
  body->shape = shape;
  body->storage = shared;
  return body;
}

void Body::drop(Body* body) noexcept {
  drop_storage(body->storage);
  body->~Body();
  pool::release(body, sizeof(Body));
}

}  // namespace detail

using detail::Body;

const void* Tensor::read(DType wanted) const {
  const Body& b = body();
  if (b.dtype != wanted)
    fail("[tensor] asked for {} values of a tensor of {} with shape {}; convert with .to({})",
         name_of(wanted), name_of(b.dtype), b.shape, name_of(wanted));
  return b.storage->data;
}

void* Tensor::write(DType wanted, Where where) {
  Body& b = body();
  (void)read(wanted);
  if (b.leaf) {
    if (b.storage->uses.load(std::memory_order_acquire) >
        1) {  // whoever shares the numbers keeps the old ones
      Body* fresh = Body::make(b.shape, b.dtype, nullptr);
      if (b.storage->bytes)
        std::memcpy(fresh->storage->data, b.storage->data, static_cast<std::size_t>(b.storage->bytes));
      std::swap(b.storage, fresh->storage);
      Body::drop(fresh);
    }
    ++b.leaf->version;
    b.leaf->written = where;
  } else if (b.uses.load(std::memory_order_acquire) > 1 ||
             b.storage->uses.load(std::memory_order_acquire) > 1 || b.tape != 0) {
    fail(
        "[tensor] a tensor's values cannot change once it is shared or on a tape: shape {}; only a parameter "
        "can be "
        "written",
        b.shape);
  }
  return b.storage->data;
}

template <class T>
static std::vector<T> converted(const Tensor& x) {
  return dispatch(x.dtype(), [&]<class S>(S) {
    std::vector<T> out;
    out.reserve(static_cast<std::size_t>(x.size()));
    for (const S value : x.values<S>()) {
      if constexpr (std::is_integral_v<T> && !std::is_integral_v<S>) {
        const auto number = std::trunc(static_cast<double>(value));
        constexpr double end = sizeof(T) == 4 ? 0x1p31 : 0x1p63;
        if (!(number >= -end && number < end))
          fail(
              "[to_vector] number {} of the tensor of shape {} is {}, which a whole number of {} bytes does "
              "not hold",
              out.size(), x.shape(), value, sizeof(T));
      }
      out.push_back(static_cast<T>(value));
    }
    return out;
  });
}

template <>
std::vector<float> Tensor::to_vector() const {
  return converted<float>(*this);
}
template <>
std::vector<double> Tensor::to_vector() const {
  return converted<double>(*this);
}
template <>
std::vector<std::int32_t> Tensor::to_vector() const {
  return converted<std::int32_t>(*this);
}
template <>
std::vector<std::int64_t> Tensor::to_vector() const {
  return converted<std::int64_t>(*this);
}

double Tensor::item() const {
  if (size() != 1) fail("[item] needs a tensor with exactly one number; this one has shape {}", shape());
  return dispatch(dtype(), [&]<class S>(S) { return static_cast<double>(values<S>()[0]); });
}

const std::string& Tensor::name() const {
  static const std::string none;
  return body().name ? *body().name : none;
}

void Tensor::assign(const Tensor& numbers, Where where) {
  if (!is_parameter())
    fail(
        "[assign] only a parameter can be written; this tensor of shape {} is none (make it one with "
        "parameter(x))",
        shape());
  if (numbers.shape() != shape() || numbers.dtype() != dtype())
    fail("[assign] parameter '{}' has shape {} and dtype {}; it was given {} and {}", name(), shape(),
         name_of(dtype()), numbers.shape(), name_of(numbers.dtype()));
  if (same(*this, numbers)) return;
  const Tensor keep = numbers;
  void* to = write(dtype(), where);
  const auto bytes = static_cast<std::size_t>(size() * bytes_of(dtype()));
  if (bytes) std::memcpy(to, Body::of(keep)->storage->data, bytes);
}

std::uint32_t Tensor::version() const { return body().leaf ? body().leaf->version : 0; }

Where Tensor::written() const { return body().leaf ? body().leaf->written : Where{}; }

bool Tensor::frozen() const { return body().leaf && body().leaf->frozen; }

void Tensor::set_frozen(bool frozen) const {
  if (!is_parameter())
    fail("[freeze] only a parameter can be frozen; this tensor of shape {} is none", shape());
  body().leaf->frozen = frozen;
}

bool Tensor::has_grad() const {
  if (!is_parameter()) return false;
  const std::lock_guard guard(body().leaf->lock);
  return body().leaf->grad.defined();
}

Tensor Tensor::grad() const {
  if (!is_parameter())
    fail(
        "[grad] only a parameter collects a gradient, and this tensor of shape {} is none; tape.grad(t) "
        "gives the "
        "gradient of any tensor on the tape",
        shape());
  const std::lock_guard guard(body().leaf->lock);
  if (!body().leaf->grad.defined())
    fail("[grad] parameter '{}' of shape {} has no gradient: no backward has reached it since the last step",
         name(), shape());
  return body().leaf->grad;
}

void Tensor::clear_grad() const {
  if (!is_parameter()) return;
  const std::lock_guard guard(body().leaf->lock);
  body().leaf->grad = Tensor();
}

void Tensor::add_grad(const Tensor& gradient) const {
  if (!is_parameter())
    fail("[grad] only a parameter collects a gradient; this tensor of shape {} is none", shape());
  if (gradient.shape() != shape() || gradient.dtype() != dtype())
    fail("[grad] parameter '{}' has shape {} and dtype {}; its gradient came as {} and {}", name(), shape(),
         name_of(dtype()), gradient.shape(), name_of(gradient.dtype()));
  const std::lock_guard guard(body().leaf->lock);
  Tensor& grad = body().leaf->grad;
  if (grad.defined())
    grad = added(std::move(grad), gradient);
  else  // the numbers as they are now, should they be a parameter's
    grad = gradient.is_parameter() ? with_shape(gradient, shape()) : gradient;
}

Tensor empty(const Shape& shape, DType dtype) { return Body::handle(Body::make(shape, dtype, nullptr)); }

Tensor with_shape(const Tensor& x, const Shape& shape) {
  if (x.size() != shape.size())
    fail("[reshape] {} holds {} numbers and {} holds {}; they must agree", x.shape(), x.size(), shape,
         shape.size());
  return Body::handle(Body::make(shape, x.dtype(), Body::of(x)->storage));
}

Tensor copy(const Tensor& x) {
  Tensor out = empty(x.shape(), x.dtype());
  if (const auto bytes = static_cast<std::size_t>(Body::of(x)->storage->bytes))
    std::memcpy(Body::of(out)->storage->data, Body::of(x)->storage->data, bytes);
  return out;
}

Tensor named(Tensor x, std::string name) {
  (void)x.shape();
  Body::of(x)->name = std::make_unique<std::string>(std::move(name));
  return x;
}

Tensor parameter(const Tensor& x, std::string name) {
  if (!is_float(x.dtype()))
    fail("[parameter] '{}' has dtype i32; only f32 and f64 collect gradients (convert with .to(f32))", name);
  Body* body = Body::make(x.shape(), x.dtype(), nullptr);
  if (body->storage->bytes)
    std::memcpy(body->storage->data, Body::of(x)->storage->data,
                static_cast<std::size_t>(body->storage->bytes));
  body->leaf = std::make_unique<detail::Leaf>();
  if (!name.empty()) body->name = std::make_unique<std::string>(std::move(name));
  return Body::handle(body);
}

Tensor added(Tensor a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype())
    fail("[add up] {} of {} and {} of {} do not add up", a.shape(), name_of(a.dtype()), b.shape(),
         name_of(b.dtype()));
  return dispatch(a.dtype(), [&]<class T>(T) {
    Body& body = *Body::of(a);
    const bool ours = body.uses.load(std::memory_order_acquire) == 1 &&
                      body.storage->uses.load(std::memory_order_acquire) == 1 && !body.leaf && body.tape == 0;
    Tensor out = ours ? a : empty(a.shape(), a.dtype());
    const T* x = a.values<T>().data();
    const T* y = b.values<T>().data();
    T* z = static_cast<T*>(Body::of(out)->storage->data);
    const std::int64_t n = out.size();
    for (std::int64_t i = 0; i < n; ++i) z[i] = static_cast<T>(x[i] + y[i]);
    return out;
  });
}

std::string to_string(const Where& where) {
  if (where.line() == 0) return "";
  const std::string_view file = where.file_name();
  return fmt::format("{}:{}", file.substr(file.find_last_of('/') + 1), where.line());
}

}  // namespace pencil
