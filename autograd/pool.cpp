#include "autograd/pool.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <new>

namespace pencil::pool {
namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t bound = std::size_t{256} << 20;  // bytes a thread keeps for later
constexpr bool pooled =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    false;  // let the sanitizers see every block's life
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    false;
#else
    true;
#endif
#else
    true;
#endif

// Four classes to a power of two: at most a quarter of a block is unused.
struct SizeClass {
  std::size_t index, bytes;
};

SizeClass size_class(std::size_t bytes) {
  if (bytes <= alignment) return {0, alignment};
  const std::size_t units = (bytes + alignment - 1) / alignment;  // ≥ 2
  const auto power = static_cast<std::size_t>(std::bit_width(units - 1)) - 1;
  const std::size_t base = std::size_t{1} << power;
  const std::size_t quarter = base < 4 ? 1 : base / 4;
  const std::size_t steps = (units - base + quarter - 1) / quarter;  // 1 … 4
  return {1 + power * 4 + (steps - 1), (base + steps * quarter) * alignment};
}

struct Block {
  Block* next;
};

struct Cache {
  std::array<Block*, 256> lists{};
  std::size_t kept = 0;
  ~Cache();
};

thread_local Cache cache;
thread_local bool cache_gone = false;  // tensors may outlive it, in other thread-locals and in statics

void to_system(void* block) noexcept { ::operator delete (block, std::align_val_t{alignment}); }

Cache::~Cache() {
  cache_gone = true;
  for (Block*& list : lists)
    while (list) {
      Block* next = list->next;
      to_system(list);
      list = next;
    }
}

}  // namespace

void* allocate(std::size_t bytes) {
  const SizeClass c = size_class(bytes);
  if (pooled && !cache_gone) {
    Block*& list = cache.lists[c.index];
    if (list) {
      Block* block = list;
      list = block->next;
      cache.kept -= c.bytes;
      return block;
    }
  }
  return ::operator new (c.bytes, std::align_val_t{alignment});
}

void release(void* block, std::size_t bytes) noexcept {
  const SizeClass c = size_class(bytes);
  if (!pooled || cache_gone || cache.kept + c.bytes > bound) return to_system(block);
  auto* freed = ::new (block) Block{cache.lists[c.index]};
  cache.lists[c.index] = freed;
  cache.kept += c.bytes;
}

}  // namespace pencil::pool
