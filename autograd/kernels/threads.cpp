#include "autograd/kernels/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "autograd/error.hpp"
#include "autograd/kernels/workers.hpp"

namespace pencil::kernels {
namespace {

/// The first number of a text like "4" or "4,2"; 0 where there is none from 1 on.
int first_number(const char* text) {
  if (text == nullptr) return 0;
  char* end = nullptr;
  const long number = std::strtol(text, &end, 10);
  const bool whole = end != text && (*end == '\0' || *end == ',');
  return whole && number >= 1 && number <= 65536 ? static_cast<int>(number) : 0;
}

int threads_at_first() {
  const char* const wish = std::getenv("PENCIL_THREADS");
  if (wish != nullptr && *wish != '\0') {
    if (const int n = first_number(wish)) return n;
    fail("[PENCIL_THREADS] \"{}\" is no number of threads; need 1 or more", wish);
  }
  if (const int n = first_number(std::getenv("OMP_NUM_THREADS"))) return n;
  return detail::cores();
}

std::atomic<int>& limit() {
  static std::atomic<int> value{threads_at_first()};
  return value;
}

}  // namespace

int threads() { return limit().load(std::memory_order_relaxed); }

void set_threads(int n) { limit().store(std::max(1, n), std::memory_order_relaxed); }

void detail::run_chunks(std::int64_t chunks, void (*run)(void* context, std::int64_t chunk), void* context) {
  Job job(chunks, run, context);
  const auto team = static_cast<int>(std::min<std::int64_t>(threads(), chunks));
  run_with_helpers(job, team - 1);
  job.rethrow();
}

}  // namespace pencil::kernels
