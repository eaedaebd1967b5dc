// Which instruction set the kernels use. The files of kernels/isa/ are compiled once for each set when
// PENCIL_PORTABLE is on, and the set is chosen at run time; otherwise once, for the machine that builds.
//
// A family of kernels is reached in three steps (see builtin.hpp, builtin.cpp and isa/elementwise_*.cpp):
//   1. its header declares a table of function pointers, and
//          template <Isa> const Table& table_of();
//   2. its file in kernels/isa/ includes "autograd/kernels/isa/set.hpp" and defines
//          template <> const Table& table_of<this_isa>() { … }
//      All else there is in an unnamed namespace or has this_arch among its template arguments, and no inline
//      function of another header is called: the linker keeps one copy of such a function, maybe one that
//      this machine lacks the instructions for.
//   3. an ordinary file asks  choose([]<Isa set>() -> const Table& { return table_of<set>(); }).
#pragma once

#include <string_view>

namespace pencil::kernels {

/// The instruction sets that kernels are compiled for.
enum class Isa {
  baseline,  ///< any x86-64 (or, where it is not an x86, any machine of that kind)
  avx2,      ///< AVX2 and FMA
  avx512,    ///< AVX-512 F, CD, VL, DQ and BW
};

/// The instruction set of the kernels in use: the best that this machine has, or the one that the environment
/// variable PENCIL_ISA names (baseline, avx2 or avx512). Throws pencil::Error if the machine or this build
/// lacks that one.
Isa isa();

/// Its name.
std::string_view isa_name();
std::string_view isa_name(Isa set);

/// The set that the flags of the including file stand for.
#if defined(__AVX512F__) && defined(__AVX512CD__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && \
    defined(__AVX512BW__)
#define PENCIL_ISA_OF_FLAGS ::pencil::kernels::Isa::avx512
#elif defined(__AVX2__) && defined(__FMA__)
#define PENCIL_ISA_OF_FLAGS ::pencil::kernels::Isa::avx2
#else
#define PENCIL_ISA_OF_FLAGS ::pencil::kernels::Isa::baseline
#endif

/// Calls f.operator()<set>() for the set in use.
template <class F>
decltype(auto) choose(const F& f) {
#ifdef PENCIL_PORTABLE
  switch (isa()) {
    case Isa::avx512:
      return f.template operator()<Isa::avx512>();
    case Isa::avx2:
      return f.template operator()<Isa::avx2>();
    default:
      return f.template operator()<Isa::baseline>();
  }
#else
  static_cast<void>(isa());  // refuses a PENCIL_ISA that was not built
  return f.template operator()<PENCIL_ISA_OF_FLAGS>();
#endif
}

}  // namespace pencil::kernels
