#include "autograd/kernels/optimizer_table.hpp"

#include "autograd/kernels/isa/set.hpp"

namespace pencil::kernels {
namespace {

template <class T>
using L = Lane<T, this_arch>;

/// Σ x² in double, over as many running sums as are added at a time.
template <std::size_t width>
class Squares {
 public:
  template <class T>
  void add(const T* x) {
    for (std::size_t k = 0; k < width; ++k) sums_[k] += static_cast<double>(x[k]) * static_cast<double>(x[k]);
  }
  template <class T>
  void add_first(const T* x, std::int64_t n) {
    T padded[width] = {};
    for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) padded[k] = x[k];
    add(padded);
  }
  double total() const {
    double sum = 0;
    for (const double s : sums_) sum += s;
    return sum;
  }

 private:
  alignas(64) double sums_[width] = {};
};

/// Calls body(at, left) for each lane of n numbers, the last of which may be there in part only, and returns
/// the sum of the squares of the changes that it hands back.
template <class T, class Body>
double update(std::int64_t n, const Body& body) {
  constexpr std::int64_t size = L<T>::size;
  alignas(64) T changes[static_cast<std::size_t>(size)];
  Squares<static_cast<std::size_t>(size)> squares;
  std::int64_t at = 0;
  for (; at + size <= n; at += size) {
    body(at, size).store(changes);
    squares.add(changes);
  }
  if (at < n) {
    body(at, n - at).store(changes);
    squares.add_first(changes, n - at);
  }
  return squares.total();
}

template <class T>
[[gnu::flatten]] double adam_piece(std::int64_t n, const AdamNumbers<T>& numbers, T* w, const T* g, T* m,
                                   T* v) {
  const AdamNumbers<T> a = numbers;  // the arrays cannot overlap a local copy
  return update<T>(n, [&](std::int64_t at, std::int64_t left) {
    const L<T> before = L<T>::load_first(w + at, left);
    const L<T> gradient = L<T>::load_first(g + at, left) * a.scale + before * a.l2;
    const L<T> mean = L<T>::load_first(m + at, left) * a.beta1 + gradient * a.one_less_beta1;
    const L<T> square = L<T>::load_first(v + at, left) * a.beta2 + gradient * gradient * a.one_less_beta2;
    const L<T> after = before * a.keep - mean * a.rate / (sqrt(square) * a.root + a.epsilon);
    mean.store_first(m + at, left);
    square.store_first(v + at, left);
    after.store_first(w + at, left);
    return after - before;
  });
}

template <class T>
[[gnu::flatten]] double momentum_piece(std::int64_t n, const MomentumNumbers<T>& numbers, T* w, const T* g,
                                       T* b) {
  const MomentumNumbers<T> a = numbers;
  return update<T>(n, [&](std::int64_t at, std::int64_t left) {
    const L<T> before = L<T>::load_first(w + at, left);
    const L<T> gradient = L<T>::load_first(g + at, left) * a.scale + before * a.l2;
    L<T> direction = gradient;
    if (b != nullptr) {
      const L<T> velocity = L<T>::load_first(b + at, left) * a.momentum + gradient;
      velocity.store_first(b + at, left);
      direction = a.nesterov ? gradient + velocity * a.momentum : velocity;
    }
    const L<T> after = before * a.keep - direction * a.rate;
    after.store_first(w + at, left);
    return after - before;
  });
}

template <class T>
bool all_finite_piece(std::int64_t n, const T* x) {
  L<T> zeros = 0;  // becomes NaN with the first number that is not finite
  for (std::int64_t at = 0; at < n; at += L<T>::size) zeros += L<T>::load_first(x + at, n - at) * 0;
  return all(zeros == 0);
}

template <class T>
double sum_of_squares_piece(std::int64_t n, const T* x) {
  constexpr int width = 32;
  Squares<width> squares;
  std::int64_t at = 0;
  for (; at + width <= n; at += width) squares.add(x + at);
  squares.add_first(x + at, n - at);
  return squares.total();
}

template <class T>
void axpy_piece(std::int64_t n, T a, const T* x, T* y) {
  for (std::int64_t at = 0; at < n; at += L<T>::size) {
    const std::int64_t left = n - at;
    (L<T>::load_first(y + at, left) + a * L<T>::load_first(x + at, left)).store_first(y + at, left);
  }
}

template <class T>
constexpr OptimizerTable<T> made{&adam_piece<T>, &momentum_piece<T>, &all_finite_piece<T>,
                                 &sum_of_squares_piece<T>, &axpy_piece<T>};

}  // namespace

template <>
const OptimizerTable<float>& optimizer_table<float, this_isa>() {
  return made<float>;
}

template <>
const OptimizerTable<double>& optimizer_table<double, this_isa>() {
  return made<double>;
}

}  // namespace pencil::kernels
