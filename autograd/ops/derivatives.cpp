#include "autograd/ops/derivatives.hpp"

#include "autograd/create.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/tape.hpp"

namespace pencil {

namespace {

Shape joined(const Shape& a, const Shape& b) {
  std::vector<std::int64_t> sizes = detail::sizes(a);
  sizes.insert(sizes.end(), b.begin(), b.end());
  return Shape(std::span<const std::int64_t>(sizes));
}

// The gradient of each number of y by x, one after the other.
Tensor all_gradients(Tape& tape, const Tensor& y, const Tensor& x) {
  Tensor result = zeros(joined(y.shape(), x.shape()), y.dtype());
  if (tape.step_of(y) < 0 || tape.step_of(x) < 0) return result;
  dispatch_float(y.dtype(), [&]<class T>(T) {
    const auto to = result.writable<T>();
    for (std::size_t k = 0; k < static_cast<std::size_t>(y.size()); ++k) {
      Tensor one = zeros(y.shape(), y.dtype());
      one.writable<T>()[k] = 1;
      const Tensor row = tape.gradient(y, {x}, {.upstream = one})[0];
      const auto from = row.values<T>();
      std::copy(from.begin(), from.end(), to.begin() + static_cast<std::ptrdiff_t>(k * from.size()));
    }
  });
  return result;
}

void need_float_argument(const char* who, const Tensor& x) {
  if (!is_float(x.dtype())) fail("[{}] x is i32 of shape {}; there are no derivatives by it", who, x.shape());
}

void need_one(const char* who, const Tensor& y) {
  if (y.size() != 1)
    fail("[{}] the function gives shape {}; need one number, of which it is", who, y.shape());
}

}  // namespace

Tensor jacobian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  need_float_argument("jacobian", x);
  Tape tape;
  const Tensor y = f(x);
  return all_gradients(tape, y, x);
}

Tensor hessian(const std::function<Tensor(const Tensor&)>& f, const Tensor& x) {
  need_float_argument("hessian", x);
  Tape tape;
  const Tensor y = f(x);
  need_one("hessian", y);
  if (tape.step_of(y) < 0 || tape.step_of(x) < 0) return zeros(joined(x.shape(), x.shape()), x.dtype());
  const Tensor gradient = tape.gradient(y, {x}, {.record = true})[0];
  return all_gradients(tape, gradient, x);
}

Tensor hessian_vector_product(const std::function<Tensor(const Tensor&)>& f, const Tensor& x,
                              const Tensor& v) {
  const Tensor xs[]{x}, vs[]{v};
  return hessian_vector_product([&](Inputs in) { return f(in[0]); }, xs, vs)[0];
}

std::vector<Tensor> hessian_vector_product(const std::function<Tensor(Inputs)>& f, Inputs xs, Inputs vs) {
  constexpr const char* who = "hessian_vector_product";
  if (xs.size() != vs.size()) fail("[{}] was given {} tensors and {} vectors", who, xs.size(), vs.size());
  std::vector<Tensor> products;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    need_float_argument(who, xs[i]);
    if (vs[i].shape() != xs[i].shape() || vs[i].dtype() != xs[i].dtype())
      fail("[{}] vector {} is {} of {}, its tensor {} of {}; they must agree", who, i, vs[i].shape(),
           name_of(vs[i].dtype()), xs[i].shape(), name_of(xs[i].dtype()));
    products.push_back(zeros(xs[i].shape(), xs[i].dtype()));
  }
  Tape tape;
  const Tensor y = f(xs);
  need_one(who, y);
  std::vector<Tensor> used;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < xs.size(); ++i)
    if (tape.step_of(xs[i]) >= 0) used.push_back(xs[i]), places.push_back(i);
  if (tape.step_of(y) < 0 || used.empty()) return products;
  const std::vector<Tensor> gradients = tape.gradient(y, used, {.record = true});
  for (std::size_t k = 0; k < used.size(); ++k) {  // H v = Σ over the gradients g of ∂(g · v)/∂x
    if (tape.step_of(gradients[k]) < 0) continue;  // it is constant
    const std::vector<Tensor> part = tape.gradient(gradients[k], used, {.upstream = vs[places[k]]});
    for (std::size_t i = 0; i < used.size(); ++i) products[places[i]] = added(products[places[i]], part[i]);
  }
  return products;
}

}  // namespace pencil
