#pragma once

#include <cstddef>
#include <cstdint>

#include "autograd/pool.hpp"

namespace pencil::kernels {

/// Working memory of a kernel for the length of a scope, from the pool: uninitialised, aligned to 64 bytes.
template <class T>
class Scratch {
 public:
  explicit Scratch(std::int64_t count)
      : bytes_(static_cast<std::size_t>(count) * sizeof(T)), memory_(pool::allocate(bytes_)) {}
  ~Scratch() { pool::release(memory_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() const { return static_cast<T*>(memory_); }

 private:
  std::size_t bytes_;
  void* memory_;
};

}  // namespace pencil::kernels
