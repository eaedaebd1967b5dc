#pragma once

#include <cstddef>

/// The pool that tensors live in. Blocks are 64-byte aligned and come in size classes; a freed block waits in
/// a list of the thread that freed it, up to a bound, so that a training step asks the system for nothing.
namespace pencil::pool {

/// At least `bytes` bytes, 64-byte aligned, uninitialised. Throws std::bad_alloc.
void* allocate(std::size_t bytes);

/// Gives back what allocate(bytes) returned.
void release(void* block, std::size_t bytes) noexcept;

}  // namespace pencil::pool
