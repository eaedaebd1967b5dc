#include "autograd/kernels/isa/tile_products.hpp"

#include "tests/kernels/support.hpp"

using namespace pencil::kernels;
using namespace support;

namespace {

template <class T>
const TileProducts<T>& products() {
  return choose([]<Isa set>() -> const TileProducts<T>& { return tile_products<T, set>(); });
}

/// (rows, columns), rows `stride` apart; what stands between them is 99, and must stay so.
template <class T>
struct Matrix {
  Matrix(Size r, Size c, Size s, unsigned seed)
      : rows(r), columns(c), stride(s), data(filled<T>(r * s + 1, 99)) {
    const std::vector<T> random = random_numbers<T>(r * c, seed);
    for (Size i = 0; i < r; ++i)
      for (Size j = 0; j < c; ++j) at(i, j) = random[static_cast<std::size_t>(i * c + j)];
  }
  T& at(Size i, Size j) { return data[static_cast<std::size_t>(i * stride + j)]; }
  Size rows, columns, stride;
  std::vector<T> data;
};

/// Whether y is near wanted(i, j), and what stands between its rows from column `end` on as it was.
template <class T, class Wanted>
bool holds(Matrix<T>& y, Size end, const Wanted& wanted) {
  bool good = true;
  for (Size i = 0; i < y.rows; ++i) {
    for (Size j = 0; j < y.columns; ++j)
      good = good && std::abs(static_cast<double>(y.at(i, j)) - wanted(i, j)) < 100 * tolerance<T>;
    for (Size j = end; j < y.stride; ++j) good = good && y.at(i, j) == 99;
  }
  return good && y.data.back() == 99;
}

template <class T>
void check(Size m, Size n, Size k) {
  CAPTURE(m, n, k);
  const TileProducts<T>& p = products<T>();
  const Size pitch = (n + p.panel - 1) / p.panel * p.panel;
  Matrix<T> a(m, k, k + 3, 1), across(k, m, m + 2, 2), b(k, n, n + 5, 3), rows(n, k, k + 1, 4);

  std::vector<T> packed = filled<T>(pitch * k + 1, 99);
  p.pack(n, k, rows.data.data(), rows.stride, packed.data());
  CHECK(packed.back() == 99);
  Matrix<T> y(m, n, pitch + 1, 5);
  p.times_packed(m, n, k, T{0.5}, a.data.data(), a.stride, packed.data(), y.data.data(), y.stride);
  CHECK(holds(y, pitch, [&](Size i, Size j) {
    double sum = 0;
    for (Size l = 0; l < k; ++l)
      sum += 0.5 * static_cast<double>(a.at(i, l)) * static_cast<double>(rows.at(j, l));
    return sum;
  }));

  const std::vector<T> factors = random_numbers<T>(m, 6);
  for (const bool scaled : {false, true})
    for (const bool add : {false, true}) {
      Matrix<T> z(m, n, n + 1, 7), before = z;
      p.times(m, n, k, scaled ? factors.data() : nullptr, a.data.data(), a.stride, b.data.data(), b.stride,
              add, z.data.data(), z.stride);
      CHECK(holds(z, n, [&](Size i, Size j) {
        double sum = 0;
        for (Size l = 0; l < k; ++l) sum += static_cast<double>(a.at(i, l)) * static_cast<double>(b.at(l, j));
        if (scaled) sum *= static_cast<double>(factors[static_cast<std::size_t>(i)]);
        return add ? sum + static_cast<double>(before.at(i, j)) : sum;
      }));
    }

  Matrix<T> z(m, n, n + 1, 8), before = z;
  p.add_transposed_times(m, n, k, across.data.data(), across.stride, b.data.data(), b.stride, z.data.data(),
                         z.stride);
  CHECK(holds(z, n, [&](Size i, Size j) {
    double sum = static_cast<double>(before.at(i, j));
    for (Size l = 0; l < k; ++l)
      sum += static_cast<double>(across.at(l, i)) * static_cast<double>(b.at(l, j));
    return sum;
  }));
}

}  // namespace

TEMPLATE_TEST_CASE("products of tiles equal the plain loops at every size", "[attention]", float, double) {
  for (Size size = 0; size <= 67; ++size) {
    check<TestType>(size, 32, 16);
    check<TestType>(13, size, 16);
    check<TestType>(13, 32, size);
  }
  check<TestType>(128, 128, 128);
}
