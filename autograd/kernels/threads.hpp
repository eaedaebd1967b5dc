#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>

namespace pencil::kernels {

/// How many threads a kernel may use at most. At first: the number in the environment variable
/// PENCIL_THREADS, else the one in OMP_NUM_THREADS, else the processors that this process may use. Throws
/// Error where PENCIL_THREADS is no number from 1 on.
int threads();

/// Sets threads() for the whole process; n < 1 counts as 1. Changes speed only: every kernel cuts its work by
/// size and adds partial sums in a fixed order, so results have the same bits for any number of threads.
void set_threads(int n);

namespace detail {
/// Calls run(context, chunk) for every chunk in 0 … chunks − 1, on several threads where that is allowed.
void run_chunks(std::int64_t chunks, void (*run)(void* context, std::int64_t chunk), void* context);
}  // namespace detail

/// Calls f(begin, end) on pieces of exactly `grain` numbers of 0 … n − 1 (the last may be shorter), in any
/// order, on up to threads() threads. One piece, and a call from inside another parallel_for, run on the
/// caller's thread; so do calls in a child of fork(). An exception of f ends no thread: all other pieces
/// still run, then the caller receives the exception of the first piece (by position) that threw.
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, F&& f) {
  assert(grain > 0);
  if (n <= 0) return;
  if (n <= grain) {
    f(std::int64_t{0}, n);
    return;
  }
  struct Work {
    std::remove_reference_t<F>* f;
    std::int64_t n;
    std::int64_t grain;
  } work{&f, n, grain};
  detail::run_chunks((n - 1) / grain + 1,
                     [](void* context, std::int64_t chunk) {
                       const Work& w = *static_cast<const Work*>(context);
                       const std::int64_t begin = chunk * w.grain;
                       const std::int64_t end = w.n - begin < w.grain ? w.n : begin + w.grain;
                       (*w.f)(begin, end);
                     },
                     &work);
}

}  // namespace pencil::kernels
