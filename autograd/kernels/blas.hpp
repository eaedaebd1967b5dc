#pragma once

#include <cstdint>
#include <type_traits>

namespace pencil::kernels {

/// c = alpha · op(a) · op(b) + beta · c with op(a) (m, k), op(b) (k, n), c (m, n), all row-major.
///
/// `ta` says that a is stored transposed, as (k, m); likewise `tb`: b is stored as (n, k). lda, ldb and ldc
/// are the distances between the starts of two stored rows, in numbers. With beta = 0 what c held is not
/// read. Any of m, n and k may be 0 (k = 0 leaves beta · c). The arrays must not overlap. For float and
/// double.
///
/// The products are CBLAS's, kept to one thread of its own; large ones are cut here, by their sizes alone,
/// into blocks of rows and columns, or of k where c is small and k is long (added in order of k).
template <class T>
void gemm(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, std::type_identity_t<T> alpha,
          const T* a, std::int64_t lda, const T* b, std::int64_t ldb, std::type_identity_t<T> beta, T* c,
          std::int64_t ldc);

/// The batch axes of gemm_batched: their sizes, and how far apart two neighbours lie in a, b and c (in
/// numbers). A stride of 0 in a or b repeats the same matrix; matrices of c must not overlap.
struct Batches {
  static constexpr int most = 8;
  int rank = 0;
  std::int64_t size[most] = {};
  std::int64_t a[most] = {};
  std::int64_t b[most] = {};
  std::int64_t c[most] = {};
};

/// gemm for every batch; all have the same sizes.
template <class T>
void gemm_batched(const Batches& batches, bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k,
                  std::type_identity_t<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
                  std::type_identity_t<T> beta, T* c, std::int64_t ldc);

/// The same on the caller's thread as one product, uncut: for kernels that cut their work themselves.
template <class T>
void gemm_here(bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k,
               std::type_identity_t<T> alpha, const T* a, std::int64_t lda, const T* b, std::int64_t ldb,
               std::type_identity_t<T> beta, T* c, std::int64_t ldc);

}  // namespace pencil::kernels
