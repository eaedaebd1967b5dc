#pragma once

#include "autograd/tape_body.hpp"

namespace pencil::tests {

/// While it lives, this thread's clock is one of the test's own: each look finds it 1,000 ns later than the
/// last, and `growth` more each time.
class Ticking {
 public:
  explicit Ticking(std::int64_t growth = 0) : before_(detail::thread_state().clock) {
    now_ = looks_ = 0;
    growth_ = growth;
    detail::thread_state().clock = [] { return now_ += 1000 + growth_ * looks_++; };
  }
  ~Ticking() { detail::thread_state().clock = before_; }
  Ticking(const Ticking&) = delete;
  Ticking& operator=(const Ticking&) = delete;

  static std::int64_t looks() { return looks_; }

 private:
  std::int64_t (*before_)();
  static inline std::int64_t now_ = 0, looks_ = 0, growth_ = 0;
};

}  // namespace pencil::tests
