#include "autograd/kernels/blas.hpp"

#if __has_include(<cblas.h>)
#include <cblas.h>
#else
#include <mkl_cblas.h>
#endif

#include <algorithm>
#include <array>
#include <climits>

#include "autograd/kernels/scratch.hpp"
#include "autograd/kernels/threads.hpp"

// How the BLAS libraries that start threads of their own are told not to. Weak: null where another one is
// linked.
extern "C" {
[[gnu::weak]] void openblas_set_num_threads(int);
[[gnu::weak]] void MKL_Set_Num_Threads(int);
[[gnu::weak]] void bli_thread_set_num_threads(std::int64_t);
}

namespace pencil::kernels {
namespace {

using Size = std::int64_t;

void keep_blas_to_one_thread() {
  static const bool done = [] {
    if (openblas_set_num_threads) openblas_set_num_threads(1);
    if (MKL_Set_Num_Threads) MKL_Set_Num_Threads(1);
    if (bli_thread_set_num_threads) bli_thread_set_num_threads(1);
    return true;
  }();
  (void)done;
}

CBLAS_TRANSPOSE transposed(bool yes) { return yes ? CblasTrans : CblasNoTrans; }

void call_gemm(bool ta, bool tb, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
               int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(CblasRowMajor, transposed(ta), transposed(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void call_gemm(bool ta, bool tb, int m, int n, int k, double alpha, const double* a, int lda, const double* b,
               int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasRowMajor, transposed(ta), transposed(tb), m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void call_gemv(bool ta, int rows, int columns, float alpha, const float* a, int lda, const float* x, int dx,
               float* y, int dy) {
  cblas_sgemv(CblasRowMajor, transposed(ta), rows, columns, alpha, a, lda, x, dx, 1, y, dy);
}
void call_gemv(bool ta, int rows, int columns, double alpha, const double* a, int lda, const double* x,
               int dx, double* y, int dy) {
  cblas_dgemv(CblasRowMajor, transposed(ta), rows, columns, alpha, a, lda, x, dx, 1, y, dy);
}

/// One product and its arguments, without the numbers m, n, k, which the cutting changes.
template <class T>
struct Product {
  bool ta;
  bool tb;
  T alpha;
  const T* a;
  Size lda;
  const T* b;
  Size ldb;
  T beta;
  T* c;
  Size ldc;

  /// The part of the product that begins at row i and column j of c and at term l of its sums.
  Product at(Size i, Size j, Size l) const {
    Product part = *this;
    part.a += ta ? l * lda + i : i * lda + l;
    part.b += tb ? j * ldb + l : l * ldb + j;
    part.c += i * ldc + j;
    return part;
  }
};

template <class T>
void scale(Size m, Size n, T beta, T* c, Size ldc) {
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j) c[i * ldc + j] = beta == 0 ? T{0} : beta * c[i * ldc + j];
}

/// For leading dimensions that CBLAS's int cannot hold.
template <class T>
void plain(const Product<T>& p, Size m, Size n, Size k) {
  for (Size i = 0; i < m; ++i)
    for (Size j = 0; j < n; ++j) {
      T sum = 0;
      for (Size l = 0; l < k; ++l)
        sum += (p.ta ? p.a[l * p.lda + i] : p.a[i * p.lda + l]) *
               (p.tb ? p.b[j * p.ldb + l] : p.b[l * p.ldb + j]);
      T& y = p.c[i * p.ldc + j];
      y = p.beta == 0 ? p.alpha * sum : p.beta * y + p.alpha * sum;
    }
}

/// One product by one call of BLAS, with m, n and k within int. gemv's beta is always 1: libraries differ in
/// whether a NaN in y lives through a beta of 0.
template <class T>
void one_call(Product<T> p, Size m, Size n, Size k) {
  // Of a matrix with one row the leading dimension means nothing, yet BLAS checks it.
  if ((p.ta ? k : m) <= 1) p.lda = p.ta ? m : k;
  if ((p.tb ? n : k) <= 1) p.ldb = p.tb ? k : n;
  if (m <= 1) p.ldc = n;
  if (std::max({p.lda, p.ldb, p.ldc}) > INT_MAX) return plain(p, m, n, k);
  const auto as_int = [](Size size) { return static_cast<int>(size); };
  const int lda = as_int(p.lda), ldb = as_int(p.ldb), ldc = as_int(p.ldc);
  if (n == 1 || m == 1) {
    if (p.beta != 1) scale(m, n, p.beta, p.c, p.ldc);
    if (n == 1)
      call_gemv(p.ta, as_int(p.ta ? k : m), as_int(p.ta ? m : k), p.alpha, p.a, lda, p.b, p.tb ? 1 : ldb, p.c,
                ldc);
    else
      call_gemv(!p.tb, as_int(p.tb ? n : k), as_int(p.tb ? k : n), p.alpha, p.b, ldb, p.a, p.ta ? lda : 1,
                p.c, 1);
  } else {
    call_gemm(p.ta, p.tb, as_int(m), as_int(n), as_int(k), p.alpha, p.a, lda, p.b, ldb, p.beta, p.c, ldc);
  }
}

/// The sizes of the blocks that a product of m, n, k is cut into.
struct Cut {
  Size m, n, k;
};

Size up(Size size, Size multiple) { return (size + multiple - 1) / multiple * multiple; }
Size pieces(Size size, Size piece) { return (size + piece - 1) / piece; }

/// Blocks of about four million operations (some 40 µs): small enough to share out, large enough that BLAS's
/// own preparation and ours do not count.
Cut cut(Size m, Size n, Size k) {
  constexpr double block_work = 4e6;
  constexpr Size most = Size{1} << 30;  // safely within int
  const double work = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const bool vector = m == 1 || n == 1;  // bound by memory: about eight times slower an operation
  const double wanted = vector ? block_work / 8 : block_work;
  if (work <= 1.5 * wanted) return {std::min(m, most), std::min(n, most), std::min(k, most)};

  // Few results, long sums: cut the sums, into 32 at most.
  const double results = static_cast<double>(m) * static_cast<double>(n);
  if (results <= 65536 && k >= 2048) {
    const Size by_work = static_cast<Size>(wanted / (2 * results));
    const Size by_count = pieces(k, 32);
    return {m, n, std::min(up(std::max({by_work, by_count, Size{256}}), 64), most)};
  }
  // Columns in blocks near 512, then rows to fit the work; a block of a large product is at least 256 rows
  // high.
  const Size nb = n <= 768 ? n : up(pieces(n, pieces(n, 512)), 64);
  const double row_work = 2.0 * static_cast<double>(nb) * static_cast<double>(k);
  const Size by_work = static_cast<Size>(std::min(wanted / row_work, 1e9));
  return {up(std::max(by_work, n == 1 ? Size{64} : Size{256}), 64), nb, std::min(k, most)};
}

/// Runs the block with number `block` of the rows-by-columns grid; sums longer than one block are added in
/// order.
template <class T>
void run_block(const Product<T>& p, Size m, Size n, Size k, const Cut& by, Size block) {
  const Size columns = pieces(n, by.n);
  const Size i = block / columns * by.m, j = block % columns * by.n;
  const Size rows = std::min(by.m, m - i), width = std::min(by.n, n - j);
  for (Size l = 0; l < k; l += by.k) {
    Product<T> part = p.at(i, j, l);
    if (l > 0) part.beta = 1;
    one_call(part, rows, width, std::min(by.k, k - l));
  }
}

/// c = beta·c + first part, and every further part of k into memory of its own, which is then added part by
/// part.
template <class T>
void run_cut_sums(const Product<T>& p, Size m, Size n, Size k, Size kb) {
  const Size count = pieces(k, kb);
  Scratch<T> scratch((count - 1) * m * n);
  T* parts = scratch.data();
  parallel_for(count, 1, [&](Size first, Size last) {
    for (Size piece = first; piece < last; ++piece) {
      Product<T> part = p.at(0, 0, piece * kb);
      if (piece > 0) {
        part.beta = 0;
        part.c = parts + (piece - 1) * m * n;
        part.ldc = n;
      }
      one_call(part, m, n, std::min(kb, k - piece * kb));
    }
  });
  parallel_for(m, std::max<Size>(1, 32768 / (n * count)), [&](Size first, Size last) {
    for (Size piece = 1; piece < count; ++piece)
      for (Size i = first; i < last; ++i) {
        const T* from = parts + ((piece - 1) * m + i) * n;
        T* to = p.c + i * p.ldc;
        for (Size j = 0; j < n; ++j) to[j] += from[j];
      }
  });
}

template <class T>
void run(const Product<T>& p, Size m, Size n, Size k) {
  const Cut by = cut(m, n, k);
  const Size blocks = pieces(m, by.m) * pieces(n, by.n);
  if (blocks == 1 && by.k < k) return run_cut_sums(p, m, n, k, by.k);
  parallel_for(blocks, 1, [&](Size first, Size last) {
    for (Size block = first; block < last; ++block) run_block(p, m, n, k, by, block);
  });
}

/// Drops axes of size 1 and joins neighbouring axes that lie in memory as one.
Batches joined(const Batches& from) {
  Batches to;
  for (int axis = 0; axis < from.rank; ++axis) {
    if (from.size[axis] == 1) continue;
    const int last = to.rank - 1;
    const auto continues = [&](const Size* strides, const Size* of) {
      return of[last] == strides[axis] * from.size[axis];
    };
    if (last >= 0 && continues(from.a, to.a) && continues(from.b, to.b) && continues(from.c, to.c)) {
      to.size[last] *= from.size[axis];
    } else {
      to.size[to.rank++] = from.size[axis];
    }
    to.a[to.rank - 1] = from.a[axis];
    to.b[to.rank - 1] = from.b[axis];
    to.c[to.rank - 1] = from.c[axis];
  }
  return to;
}

}  // namespace

template <class T>
void gemm_here(bool ta, bool tb, Size m, Size n, Size k, std::type_identity_t<T> alpha, const T* a, Size lda,
               const T* b, Size ldb, std::type_identity_t<T> beta, T* c, Size ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) return scale<T>(m, n, beta, c, ldc);
  keep_blas_to_one_thread();
  const Product<T> p{ta, tb, alpha, a, lda, b, ldb, beta, c, ldc};
  if (std::max({m, n, k}) <= INT_MAX) return one_call(p, m, n, k);
  const Cut by = {std::min<Size>(m, 1 << 30), std::min<Size>(n, 1 << 30), std::min<Size>(k, 1 << 30)};
  for (Size block = 0; block < pieces(m, by.m) * pieces(n, by.n); ++block) run_block(p, m, n, k, by, block);
}

template <class T>
void gemm(bool ta, bool tb, Size m, Size n, Size k, std::type_identity_t<T> alpha, const T* a, Size lda,
          const T* b, Size ldb, std::type_identity_t<T> beta, T* c, Size ldc) {
  if (m == 0 || n == 0) return;
  if (k == 0) return scale<T>(m, n, beta, c, ldc);
  keep_blas_to_one_thread();
  run(Product<T>{ta, tb, alpha, a, lda, b, ldb, beta, c, ldc}, m, n, k);
}

template <class T>
void gemm_batched(const Batches& batches, bool ta, bool tb, Size m, Size n, Size k,
                  std::type_identity_t<T> alpha, const T* a, Size lda, const T* b, Size ldb,
                  std::type_identity_t<T> beta, T* c, Size ldc) {
  Size count = 1;
  for (int axis = 0; axis < batches.rank; ++axis) count *= batches.size[axis];
  if (count == 0 || m == 0 || n == 0) return;

  Batches outer = joined(batches);
  // One b for batches of rows that follow each other is one product with more rows.
  if (outer.rank > 0 && !ta) {
    const int last = outer.rank - 1;
    if (outer.b[last] == 0 && outer.a[last] == m * lda && outer.c[last] == m * ldc) {
      m *= outer.size[last];
      count /= outer.size[last];
      --outer.rank;
    }
  }
  if (count == 1 && outer.rank == 0) return gemm<T>(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);

  keep_blas_to_one_thread();
  const Cut by = cut(m, n, k);
  const Size blocks = pieces(m, by.m) * pieces(n, by.n);
  const double work =
      2.0 * static_cast<double>(by.m) * static_cast<double>(by.n) * static_cast<double>(std::max<Size>(k, 1));
  const Size grain = std::max<Size>(1, static_cast<Size>(1e6 / work));
  parallel_for(count * blocks, grain, [&](Size first, Size last) {
    for (Size item = first; item < last; ++item) {
      Product<T> p{ta, tb, alpha, a, lda, b, ldb, beta, c, ldc};
      Size rest = item / blocks;
      for (int axis = outer.rank - 1; axis >= 0; --axis) {
        const Size index = rest % outer.size[axis];
        rest /= outer.size[axis];
        p.a += index * outer.a[axis];
        p.b += index * outer.b[axis];
        p.c += index * outer.c[axis];
      }
      if (k == 0)
        scale(m, n, p.beta, p.c, ldc);
      else
        run_block(p, m, n, k, by, item % blocks);
    }
  });
}

#define PENCIL_INSTANTIATE(T)                                                                               \
  template void gemm<T>(bool, bool, Size, Size, Size, T, const T*, Size, const T*, Size, T, T*, Size);      \
  template void gemm_here<T>(bool, bool, Size, Size, Size, T, const T*, Size, const T*, Size, T, T*, Size); \
  template void gemm_batched<T>(const Batches&, bool, bool, Size, Size, Size, T, const T*, Size, const T*,  \
                                Size, T, T*, Size);
PENCIL_INSTANTIATE(float)
PENCIL_INSTANTIATE(double)
#undef PENCIL_INSTANTIATE

}  // namespace pencil::kernels
