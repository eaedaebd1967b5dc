#include "autograd/kernels/workers.hpp"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#ifdef __linux__
#include <pthread.h>
#include <sched.h>
#endif

#include "autograd/kernels/threads.hpp"

namespace pencil::kernels::detail {
namespace {

thread_local bool inside = false;  // this thread is running a chunk

/// Tells the processor that this thread only watches.
void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Returns when `count` is no longer `seen`. Watches it first, for about as long as falling asleep and being
/// woken takes, unless there are more threads than processors: then the one waited for needs this one's
/// processor.
void await_change(const std::atomic<unsigned>& count, unsigned seen) {
  constexpr std::chrono::microseconds patience(20);
  if (threads() <= cores()) {
    const auto end = std::chrono::steady_clock::now() + patience;
    do {
      for (int i = 0; i < 16; ++i) {
        if (count.load(std::memory_order_acquire) != seen) return;
        pause();
      }
    } while (std::chrono::steady_clock::now() < end);
  }
  count.wait(seen, std::memory_order_acquire);
}

}  // namespace

int cores() {
  static const int count = [] {
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) return std::max(1, CPU_COUNT(&allowed));
#endif
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }();
  return count;
}

void Job::work() noexcept {
  for (;;) {
    const std::int64_t chunk = next_.fetch_add(1, std::memory_order_relaxed);
    if (chunk >= chunks_) return;
    try {
      run_(context_, chunk);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      if (exception_ && thrower_ < chunk) continue;
      exception_ = std::current_exception();
      thrower_ = chunk;
    }
  }
}

/// Invariants: (1) a worker reads and writes a job only while it counts among its helpers, and comes to it
/// only while it is open; so a job may go once it is closed and without helpers. (2) Whoever waits reads the
/// count it waits on before it looks for what that count announces, so that no change is missed.
class Workers {
 public:
  /// Never destroyed: workers may outlive static objects, and end with the process.
  static Workers& all() {
    static Workers& workers = *new Workers;
    return workers;
  }

  void run(Job& job, int helpers) {
    open(job, helpers);
    inside = true;
    job.work();
    inside = false;
    close(job);
    for (;;) {
      const unsigned seen = left_.load(std::memory_order_acquire);
      if (job.helpers_.load(std::memory_order_acquire) == 0) return;
      await_change(left_, seen);
    }
  }

  bool forked() const { return forked_; }

 private:
  Workers() {
#ifdef __linux__
    pthread_atfork([] { all().mutex_.lock(); }, [] { all().mutex_.unlock(); },
                   [] {
                     all().forked_ = true;
                     all().mutex_.unlock();
                   });
#endif
  }

  void open(Job& job, int helpers) {
    bool all = false;
    {
      const std::lock_guard lock(mutex_);
      while (started_ < helpers && start()) ++started_;
      all = helpers >= started_;
      job.places_ = helpers;
      job.below_ = std::exchange(jobs_, &job);
    }
    opened_.fetch_add(1);
    if (all)
      opened_.notify_all();
    else
      for (int i = 0; i < helpers; ++i) opened_.notify_one();
  }

  void close(Job& job) {
    const std::lock_guard lock(mutex_);
    Job** link = &jobs_;
    while (*link != &job) link = &(*link)->below_;
    *link = job.below_;
  }

  bool start() {
    try {
      std::thread([this] { serve(); }).detach();
      return true;
    } catch (const std::system_error&) {
      return false;  // the system has no more threads: those that there are do
    }
  }

  [[noreturn]] void serve() {
    inside = true;
    for (;;) {
      const unsigned seen = opened_.load(std::memory_order_acquire);
      if (Job* const job = join()) {
        job->work();
        job->helpers_.fetch_sub(1, std::memory_order_release);  // from here on the job may be gone
        left_.fetch_add(1);
        left_.notify_all();
      } else {
        await_change(opened_, seen);
      }
    }
  }

  /// An open job with chunks to take and a place for this worker, which is taken; or none.
  Job* join() {
    const std::lock_guard lock(mutex_);
    for (Job* job = jobs_; job != nullptr; job = job->below_) {
      if (job->places_ == 0 || job->all_taken()) continue;
      --job->places_;
      job->helpers_.fetch_add(1, std::memory_order_relaxed);
      return job;
    }
    return nullptr;
  }

  std::mutex mutex_;                 // of the next three, and of the jobs' places
  Job* jobs_ = nullptr;              // open ones, the latest first
  int started_ = 0;                  // workers
  bool forked_ = false;              // this is a child of fork(): there are no workers
  std::atomic<unsigned> opened_{0};  // how many jobs were opened: what idle workers watch
  std::atomic<unsigned> left_{0};    // how often a worker left a job: what callers watch
};

void run_with_helpers(Job& job, int helpers) {
  if (helpers < 1 || inside || Workers::all().forked())
    job.work();
  else
    Workers::all().run(job, helpers);
}

}  // namespace pencil::kernels::detail
