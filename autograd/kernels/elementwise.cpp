#include "autograd/kernels/elementwise.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <type_traits>

#include "autograd/kernels/threads.hpp"

namespace pencil::kernels {
namespace {

constexpr std::int64_t grain = 1 << 15;                 // numbers a thread takes at a time
constexpr int most_inputs = Broadcast::max_inputs + 2;  // the formula's arguments, dy and u
constexpr std::int64_t block_bytes = 4096;  // per broadcast input, so that all stay in the first cache

template <class T>
using Kernel = typename ElementwiseTable<T>::Kernel;

/// One evaluation of a kernel over a walk. Inputs and result are numbers of type T, or whole numbers that are
/// converted.
template <class T>
struct Job {
  Kernel<T> kernel;
  const void* formula;
  const Broadcast& walk;
  std::int64_t lane;
  int inputs;  ///< of the kernel: the walk's, then those of the output's shape
  T* out;
  const T* in[most_inputs] = {};
  const std::int32_t* whole_in[most_inputs] = {};  ///< where in is null
  std::int32_t* whole_out = nullptr;               ///< where out is null
};

/// How many numbers to compute at a time: few enough for the block buffers and, where an input repeats with a
/// short period, a multiple of it, so that its buffer is written once.
std::int64_t block_size(const Broadcast& walk, std::int64_t lane, std::int64_t capacity) {
  const std::int64_t usual = capacity / 2;
  std::int64_t period = 1;
  for (int k = 0; k < walk.inputs; ++k)
    if (walk.period[k] <= capacity) period = std::max(period, walk.period[k]);
  const std::int64_t even = std::lcm(period, lane);  // no part of a lane within
  const std::int64_t unit = even <= capacity ? even : period;
  return unit >= usual ? unit : usual / unit * unit;
}

template <class T>
void broadcast_range(const Job<T>& job, std::int64_t begin, std::int64_t end) {
  constexpr std::size_t capacity = std::size_t{2 * block_bytes} / sizeof(T);
  alignas(64) T buffers[Broadcast::max_inputs][capacity];
  const Broadcast& walk = job.walk;
  const std::int64_t block = block_size(walk, job.lane, std::int64_t{capacity});
  const T* pointers[most_inputs];
  for (std::int64_t at = begin; at < end; at += block) {
    const std::int64_t n = std::min(block, end - at);
    for (int k = 0; k < job.inputs; ++k) {
      const bool whole = job.in[k] == nullptr;
      if (!whole && (k >= walk.inputs || walk.period[k] == walk.size)) {
        pointers[k] = job.in[k] + at;
        continue;
      }
      pointers[k] = buffers[k];
      if (at != begin && walk.period[k] > 0 && block % walk.period[k] == 0) continue;  // the same as before
      if (whole)
        gather(walk, k, job.whole_in[k], at, n, buffers[k]);
      else
        gather(walk, k, job.in[k], at, n, buffers[k]);
    }
    if (job.out != nullptr) {
      job.kernel(job.formula, n, pointers, job.out + at);
    } else {
      alignas(64) T result[capacity];
      job.kernel(job.formula, n, pointers, result);
      for (std::int64_t i = 0; i < n; ++i) job.whole_out[at + i] = static_cast<std::int32_t>(result[i]);
    }
  }
}

/// In blocks, on several threads.
template <class T>
void run_broadcast(const Job<T>& job) {
  parallel_for(job.walk.size, grain,
               [&](std::int64_t begin, std::int64_t end) { broadcast_range(job, begin, end); });
}

template <class T>
void run(const Job<T>& job) {
  if (!job.walk.flat) return run_broadcast(job);
  parallel_for(job.walk.size, grain, [&](std::int64_t begin, std::int64_t end) {
    const T* pointers[most_inputs];
    for (int k = 0; k < job.inputs; ++k) pointers[k] = job.in[k] + begin;
    job.kernel(job.formula, end - begin, pointers, job.out + begin);
  });
}

}  // namespace

template <class T>
void ElementwiseTable<T>::forward(const Broadcast& walk, const T* const* x, T* y, const void* formula) const {
  assert(walk.inputs == arity);
  Job<T> job{forward_kernel, formula, walk, lane, arity, y};
  std::copy_n(x, arity, job.in);
  run(job);
}

template <class T>
void ElementwiseTable<T>::partial(int i, const Broadcast& walk, const T* dy, const T* const* x, T* out,
                                  const void* formula) const {
  assert(walk.inputs == arity && 0 <= i && i < arity);
  Job<T> job{partial_kernel[i], formula, walk, lane, arity + 1, out};
  std::copy_n(x, arity, job.in);
  job.in[arity] = dy;
  run(job);
}

template <class T>
void ElementwiseTable<T>::second(int i, int j, const Broadcast& walk, const T* u, const T* dy,
                                 const T* const* x, T* out, const void* formula) const {
  assert(walk.inputs == arity && 0 <= i && i < arity && 0 <= j && j < arity);
  Job<T> job{second_kernel[i][j], formula, walk, lane, arity + 2, out};
  std::copy_n(x, arity, job.in);
  job.in[arity] = dy;
  job.in[arity + 1] = u;
  run(job);
}

template struct ElementwiseTable<float>;
template struct ElementwiseTable<double>;

namespace detail {

template <class T>
void choose_elements(const ElementwiseTable<T>& table, const Broadcast& walk, const std::int32_t* condition,
                     const T* a, const T* b, T* y) {
  Job<T> job{table.forward_kernel, nullptr, walk, table.lane, 3, y};
  job.whole_in[0] = condition;
  job.in[1] = a;
  job.in[2] = b;
  run_broadcast(job);
}

template <class T, class From>
void compare_elements(const ElementwiseTable<T>& table, const Broadcast& walk, const From* a, const From* b,
                      std::int32_t* y) {
  Job<T> job{table.forward_kernel, nullptr, walk, table.lane, 2, nullptr};
  if constexpr (std::is_same_v<From, T>) {
    job.in[0] = a;
    job.in[1] = b;
  } else {
    job.whole_in[0] = a;
    job.whole_in[1] = b;
  }
  job.whole_out = y;
  run_broadcast(job);
}

template void choose_elements(const ElementwiseTable<float>&, const Broadcast&, const std::int32_t*,
                              const float*, const float*, float*);
template void choose_elements(const ElementwiseTable<double>&, const Broadcast&, const std::int32_t*,
                              const double*, const double*, double*);
template void compare_elements(const ElementwiseTable<float>&, const Broadcast&, const float*, const float*,
                               std::int32_t*);
template void compare_elements(const ElementwiseTable<double>&, const Broadcast&, const double*,
                               const double*, std::int32_t*);
template void compare_elements(const ElementwiseTable<double>&, const Broadcast&, const std::int32_t*,
                               const std::int32_t*, std::int32_t*);

}  // namespace detail

}  // namespace pencil::kernels
