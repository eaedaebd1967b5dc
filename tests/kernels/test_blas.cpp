#include "autograd/kernels/blas.hpp"

#include <sys/mman.h>

#include "tests/kernels/support.hpp"

using namespace pencil::kernels;
using namespace support;

namespace {

/// The plain loops, summed in long double.
template <class T>
std::vector<T> naive_gemm(bool ta, bool tb, Size m, Size n, Size k, T alpha, const T* a, Size lda, const T* b,
                          Size ldb, T beta, std::vector<T> c, Size ldc) {
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j) {
      long double sum = 0;
      for (Size l = 0; l < k; ++l)
        sum += static_cast<long double>(ta ? a[l * lda + i] : a[i * lda + l]) *
               static_cast<long double>(tb ? b[j * ldb + l] : b[l * ldb + j]);
      T& y = c[static_cast<std::size_t>(i * ldc + j)];
      y = static_cast<T>((beta == T{0} ? 0.0L : static_cast<long double>(beta) * y) +
                         static_cast<long double>(alpha) * sum);
    }
  return c;
}

template <class T>
void check_gemm(bool ta, bool tb, Size m, Size n, Size k, T alpha, T beta) {
  CAPTURE(ta, tb, m, n, k, alpha, beta);
  // Every matrix is part of a wider one; what lies beside c must stay.
  const Size lda = (ta ? m : k) + 3, ldb = (tb ? k : n) + 1, ldc = n + 2;
  const auto a = random_numbers<T>((ta ? k : m) * lda, 1);
  const auto b = random_numbers<T>((tb ? n : k) * ldb, 2);
  auto c = random_numbers<T>(m * ldc, 3);
  const auto expected = naive_gemm(ta, tb, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, c, ldc);
  auto here = c;
  gemm(ta, tb, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, c.data(), ldc);
  gemm_here(ta, tb, m, n, k, alpha, a.data(), lda, b.data(), ldb, beta, here.data(), ldc);
  CHECK(distance(c, expected) < 4 * tolerance<T> * std::sqrt(static_cast<double>(k + 1)));
  CHECK(distance(here, expected) < 4 * tolerance<T> * std::sqrt(static_cast<double>(k + 1)));
}

}  // namespace

TEMPLATE_TEST_CASE("gemm equals the plain loops for every transposition and small size", "[blas]", float,
                   double) {
  using T = TestType;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const Size m : {0, 1, 2, 7, 33})
        for (const Size n : {0, 1, 3, 16, 65})
          for (const Size k : {0, 1, 2, 5, 31, 64}) {
            check_gemm<T>(ta, tb, m, n, k, 1, 0);
            check_gemm<T>(ta, tb, m, n, k, T(-0.5), 2);
          }
}

TEMPLATE_TEST_CASE("gemm equals the plain loops where it is cut", "[blas][threads]", float, double) {
  using T = TestType;
  struct Shape {
    Size m, n, k;
  };
  // Cut into rows; rows and columns; parts of k; a row and a column vector; a dot product.
  for (const Shape s : {Shape{1700, 96, 33}, Shape{300, 1100, 40}, Shape{48, 33, 5000}, Shape{90000, 1, 9},
                        Shape{1, 90000, 9}, Shape{1, 1, 900000}, Shape{1, 3, 300000}})
    for (const bool ta : {false, true}) {
      check_gemm<T>(ta, !ta, s.m, s.n, s.k, 1, 0);
      check_gemm<T>(ta, ta, s.m, s.n, s.k, T(0.5), T(-1));
    }
}

TEMPLATE_TEST_CASE("gemm gives the same bits for any number of threads", "[blas][threads]", float, double) {
  using T = TestType;
  struct Shape {
    Size m, n, k;
  };
  for (const Shape s : {Shape{1700, 96, 33}, Shape{48, 33, 5000}, Shape{90000, 1, 9}}) {
    const auto a = random_numbers<T>(s.m * s.k, 1), b = random_numbers<T>(s.k * s.n, 2);
    const auto product = [&](int team) {
      const WithThreads with(team);
      auto c = filled<T>(s.m * s.n, 0);
      gemm(false, false, s.m, s.n, s.k, 1, a.data(), s.k, b.data(), s.n, 0, c.data(), s.n);
      return c;
    };
    const auto one = product(1);
    CHECK(same_bits(one, product(2)));
    CHECK(same_bits(one, product(7)));
  }
}

TEMPLATE_TEST_CASE("gemm does not read c when beta is 0", "[blas]", float, double) {
  using T = TestType;
  constexpr T nan = std::numeric_limits<T>::quiet_NaN();
  const auto a = random_numbers<T>(64, 1), b = random_numbers<T>(64, 2);
  for (const Size m : {1, 4})
    for (const Size n : {1, 4})
      for (const Size k : {0, 1, 4}) {
        CAPTURE(m, n, k);
        auto c = filled<T>(m * n, nan);
        gemm(false, false, m, n, k, 1, a.data(), 4, b.data(), 4, 0, c.data(), n);
        for (const T x : c) CHECK(std::isfinite(x));
      }
}

TEMPLATE_TEST_CASE("gemm carries NaN and infinity of an operand", "[blas]", float, double) {
  using T = TestType;
  // 0 · inf and 0 · NaN are NaN: no library may skip products with a factor of 0.
  for (const T bad : {std::numeric_limits<T>::infinity(), std::numeric_limits<T>::quiet_NaN()})
    for (const Size n : {1, 5}) {
      const auto a = filled<T>(2 * 3, 0);
      auto b = filled<T>(3 * n, 1);
      b[0] = bad;
      auto c = filled<T>(2 * n, 0);
      gemm(false, false, 2, n, 3, 1, a.data(), 3, b.data(), n, 0, c.data(), n);
      CHECK(std::isnan(c[0]));
      CHECK(std::isnan(c[static_cast<std::size_t>(n)]));
    }
}

TEST_CASE("gemm works with a leading dimension beyond int", "[blas]") {
  // Three rows of a matrix 2^31 + 5 numbers wide: address space only, of which a few pages are touched.
  constexpr Size lda = (Size{1} << 31) + 5;
  const std::size_t bytes = static_cast<std::size_t>(3 * lda) * sizeof(float);
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    WARN("not run: no address space for a matrix of 24 GB");
    return;
  }
  float* a = static_cast<float*>(memory);
  for (Size i = 0; i < 3; ++i)
    for (Size l = 0; l < 2; ++l) a[i * lda + l] = static_cast<float>(10 * i + l);
  const std::vector<float> b{1, 2, 3, 4};
  auto c = filled<float>(6, 1);
  gemm(false, false, 3, 2, 2, 2, a, lda, b.data(), 2, 1, c.data(), 2);
  CHECK(c == std::vector<float>{7, 9, 87, 129, 167, 249});
  munmap(memory, bytes);
}

TEMPLATE_TEST_CASE("gemm_batched repeats what has stride 0", "[blas][threads]", float, double) {
  using T = TestType;
  constexpr Size b0 = 3, b1 = 5;
  struct Case {
    bool a0, a1, b0, b1;  // which operand has a batch axis of its own
  };
  for (const Case own :
       {Case{true, true, true, true}, Case{true, true, false, false}, Case{false, true, true, false},
        Case{true, false, false, true}, Case{false, false, true, true}, Case{true, true, false, true}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (const Size m : {1, 6, 300})
          for (const Size n : {1, 7})
            for (const Size k : {0, 1, 9}) {
              CAPTURE(own.a0, own.a1, own.b0, own.b1, ta, tb, m, n, k);
              Batches batches{2, {b0, b1}, {}, {}, {b1 * m * n, m * n}};
              batches.a[1] = own.a1 ? m * k : 0;
              batches.a[0] = own.a0 ? (own.a1 ? b1 : 1) * m * k : 0;
              batches.b[1] = own.b1 ? k * n : 0;
              batches.b[0] = own.b0 ? (own.b1 ? b1 : 1) * k * n : 0;
              const auto a = random_numbers<T>(b0 * b1 * m * k, 1), b = random_numbers<T>(b0 * b1 * k * n, 2);
              auto c = filled<T>(b0 * b1 * m * n, 3);
              gemm_batched(batches, ta, tb, m, n, k, 1, a.data(), ta ? m : k, b.data(), tb ? k : n, T(0.5),
                           c.data(), n);
              std::vector<T> expected;
              for (Size i = 0; i < b0; ++i)
                for (Size j = 0; j < b1; ++j) {
                  const auto one =
                      naive_gemm<T>(ta, tb, m, n, k, 1, a.data() + i * batches.a[0] + j * batches.a[1],
                                    ta ? m : k, b.data() + i * batches.b[0] + j * batches.b[1], tb ? k : n,
                                    T(0.5), filled<T>(m * n, 3), n);
                  expected.insert(expected.end(), one.begin(), one.end());
                }
              CHECK(distance(c, expected) < 8 * tolerance<T>);
            }
}

TEST_CASE("gemm_batched over no batch, and with no batch axis", "[blas]") {
  const std::vector<float> a{1, 2}, b{3, 4};
  std::vector<float> c{7};
  gemm_batched(Batches{2, {0, 3}, {}, {}, {}}, false, false, 1, 1, 2, 1, a.data(), 2, b.data(), 1, 0,
               c.data(), 1);
  CHECK(c[0] == 7);
  gemm_batched(Batches{}, false, false, 1, 1, 2, 1, a.data(), 2, b.data(), 1, 0, c.data(), 1);
  CHECK(c[0] == 11);
}
