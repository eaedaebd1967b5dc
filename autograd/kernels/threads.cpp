#include "autograd/kernels/threads.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>

namespace pencil::kernels {
namespace {

std::atomic<int>& limit() {
  static std::atomic<int> value{std::max(1, omp_get_max_threads())};
  return value;
}

/// Keeps the exception of the lowest chunk, so that which one is thrown does not depend on timing.
class FirstException {
 public:
  void take(std::int64_t chunk, std::exception_ptr exception) {
    const std::lock_guard lock(mutex_);
    if (!exception_ || chunk < chunk_) {
      exception_ = std::move(exception);
      chunk_ = chunk;
    }
  }
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr exception_;
  std::int64_t chunk_ = 0;
};

}  // namespace

int threads() { return limit().load(std::memory_order_relaxed); }

void set_threads(int n) { limit().store(std::max(1, n), std::memory_order_relaxed); }

void detail::run_chunks(std::int64_t chunks, void (*run)(void* context, std::int64_t chunk), void* context) {
  FirstException first;
  const auto guarded = [&](std::int64_t chunk) noexcept {
    try {
      run(context, chunk);
    } catch (...) {
      first.take(chunk, std::current_exception());
    }
  };
  const int team = static_cast<int>(std::min<std::int64_t>(threads(), chunks));
  if (team == 1 || omp_in_parallel()) {
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) guarded(chunk);
  } else {
#pragma omp parallel for schedule(dynamic, 1) num_threads(team)
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) guarded(chunk);
  }
  first.rethrow();
}

}  // namespace pencil::kernels
