// Memory for scalar statements, and the table of formulas.

#include <sys/mman.h>

#include <deque>
#include <mutex>
#include <new>

#include "autograd/scalar_body.hpp"

namespace pencil::detail {

namespace {

constexpr std::uint64_t most_words = (std::uint64_t{1} << 32) - 1;  // what a place can name: 34 GB
constexpr std::uint64_t kept_words = std::uint64_t{32} << 20;       // of a stretch that waits: 256 MB

struct Memory {
  double* words;
  std::uint64_t size;
};

// This thread's stretches that wait for another tape.
struct Waiting {
  std::vector<Memory> stretches;
  ~Waiting() {
    for (const Memory& memory : stretches) ::munmap(memory.words, memory.size * sizeof(double));
  }
};
thread_local Waiting waiting;

// As much address space as the system allows, 34 GB at most.
Memory reserve() {
  for (std::uint64_t size = most_words; size > std::uint64_t{1} << 20; size /= 2) {
    void* const found = ::mmap(nullptr, size * sizeof(double), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (found != MAP_FAILED) return {static_cast<double*>(found), size};
  }
  throw std::bad_alloc();
}

struct FormulaTable {
  std::mutex lock;
  std::deque<std::vector<Operation>> codes{{}};
};

FormulaTable& formula_table() {
  static FormulaTable table;
  return table;
}

}  // namespace

Stretch::Stretch() {
  if (waiting.stretches.empty()) {
    const Memory fresh = reserve();
    words_ = fresh.words;
    size_ = fresh.size;
  } else {
    words_ = waiting.stretches.back().words;
    size_ = waiting.stretches.back().size;
    waiting.stretches.pop_back();
  }
}

Stretch::~Stretch() {
  if (used_ > kept_words)
    ::madvise(words_ + kept_words, (used_ - kept_words) * sizeof(double), MADV_DONTNEED);
  waiting.stretches.push_back({words_, size_});
}

std::uint32_t register_formula(std::span<const Operation> code) {
  FormulaTable& table = formula_table();
  const std::lock_guard guard(table.lock);
  if (table.codes.size() > 0xffff) return 0;
  table.codes.emplace_back(code.begin(), code.end());
  return static_cast<std::uint32_t>(table.codes.size() - 1);
}

std::span<const Operation> formula_code(std::uint32_t formula) {
  FormulaTable& table = formula_table();
  const std::lock_guard guard(table.lock);
  return table.codes[formula];
}

const char* name_of(Operation operation) {
  static constexpr const char* names[] = {
      "",     "",    "+",   "-",   "*",     "/",    "-",    "exp",  "expm1",      "log",  "log1p",
      "sqrt", "sin", "cos", "tan", "asin",  "acos", "atan", "sinh", "cosh",       "tanh", "erf",
      "abs",  "pow", "min", "max", "hypot", "sum",  "mean", "dot",  "log_sum_exp"};
  static_assert(std::size(names) == static_cast<std::size_t>(Operation::log_sum_exp) + 1);
  return names[static_cast<std::size_t>(operation)];
}

}  // namespace pencil::detail
