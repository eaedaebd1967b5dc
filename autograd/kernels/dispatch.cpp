#include "autograd/kernels/dispatch.hpp"

#include <cstdlib>

#include "autograd/error.hpp"

namespace pencil::kernels {
namespace {

bool machine_has(Isa set) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  switch (set) {
    case Isa::avx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
             __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512bw") && machine_has(Isa::avx2);
    case Isa::avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::baseline:
      return true;
  }
#endif
  return set == Isa::baseline;
}

Isa named(std::string_view name) {
  for (const Isa set : {Isa::baseline, Isa::avx2, Isa::avx512})
    if (name == isa_name(set)) return set;
  fail("[PENCIL_ISA] unknown instruction set \"{}\"; need baseline, avx2 or avx512", name);
}

Isa chosen() {
  const char* const wish = std::getenv("PENCIL_ISA");
#ifdef PENCIL_PORTABLE
  if (wish == nullptr || *wish == '\0')
    return machine_has(Isa::avx512) ? Isa::avx512 : machine_has(Isa::avx2) ? Isa::avx2 : Isa::baseline;
  const Isa set = named(wish);
  if (!machine_has(set)) fail("[PENCIL_ISA] this machine does not have {}", isa_name(set));
  return set;
#else
  constexpr Isa built = PENCIL_ISA_OF_FLAGS;
  if (wish != nullptr && *wish != '\0' && named(wish) != built)
    fail(
        "[PENCIL_ISA] the kernels of this build are for {} only, not {}; need a build with "
        "PENCIL_PORTABLE=ON",
        isa_name(built), wish);
  if (!machine_has(built))
    fail("[PENCIL_ISA] the kernels were built for {}, which this machine lacks", isa_name(built));
  return built;
#endif
}

}  // namespace

Isa isa() {
  static const Isa set = chosen();
  return set;
}

std::string_view isa_name(Isa set) {
  switch (set) {
    case Isa::avx512:
      return "avx512";
    case Isa::avx2:
      return "avx2";
    case Isa::baseline:
      break;
  }
  return "baseline";
}

std::string_view isa_name() { return isa_name(isa()); }

}  // namespace pencil::kernels
