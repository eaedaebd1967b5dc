// The threads behind parallel_for. They are started when first needed, live as long as the process, and take
// chunks of whichever call is open. A call never waits for a worker that has not come: on a busy machine its
// own thread does all there is to do.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

namespace pencil::kernels::detail {

/// How many processors this process may use: those its affinity allows.
int cores();

/// The chunks 0 … chunks − 1 of one call, each taken by whichever thread comes next. Lives on the caller's
/// stack.
class Job {
 public:
  Job(std::int64_t chunks, void (*run)(void* context, std::int64_t chunk), void* context)
      : chunks_(chunks), run_(run), context_(context) {}

  /// Runs chunks until all are taken; keeps what they throw.
  void work() noexcept;
  bool all_taken() const { return next_.load(std::memory_order_relaxed) >= chunks_; }
  /// Throws what the first chunk, by number, that threw has thrown: which one does not depend on timing.
  void rethrow() const {
    if (exception_) std::rethrow_exception(exception_);
  }

 private:
  friend class Workers;
  const std::int64_t chunks_;
  void (*const run_)(void* context, std::int64_t chunk);
  void* const context_;
  std::atomic<std::int64_t> next_{0};

  std::mutex mutex_;  // of the two below
  std::exception_ptr exception_;
  std::int64_t thrower_ = 0;

  // Of the workers, which guard them by a mutex of their own.
  Job* below_ = nullptr;         // the job that was opened before this one and still is open
  int places_ = 0;               // for helpers that may still come
  std::atomic<int> helpers_{0};  // that are here
};

/// Runs the job on the calling thread and on at most so many others, and returns when all its chunks are
/// done. The calling thread runs it alone inside another job's chunk, and in a process that fork() made from
/// one with workers (only the thread that forks lives on in the child).
void run_with_helpers(Job& job, int helpers);

}  // namespace pencil::kernels::detail
