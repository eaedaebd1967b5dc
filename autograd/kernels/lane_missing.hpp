// Functions of the standard library that formulas do not have: calling one says what to write in its place.
#pragma once

#include "autograd/kernels/lane.hpp"

namespace pencil::kernels {

#define PENCIL_MISSING(function, cure)                                        \
  template <class T, class Arch, class... More>                               \
  Lane<T, Arch> function(Lane<T, Arch> x, const More&...) {                   \
    static_assert(detail::never<T>, "formulas have no " #function ": " cure); \
    return x;                                                                 \
  }

PENCIL_MISSING(tan, "write sin(x) / cos(x)")
PENCIL_MISSING(sinh, "write (exp(x) - exp(-x)) / 2")
PENCIL_MISSING(cosh, "write (exp(x) + exp(-x)) / 2")
PENCIL_MISSING(exp2, "write exp(x * 0.693147180559945309)")
PENCIL_MISSING(log2, "write log(x) / 0.693147180559945309")
PENCIL_MISSING(log10, "write log(x) / 2.30258509299404568")
PENCIL_MISSING(cbrt, "write pow(x, 1.0 / 3), for x >= 0")
PENCIL_MISSING(erfc, "write 1 - erf(x)")
PENCIL_MISSING(hypot, "write sqrt(x * x + y * y)")
PENCIL_MISSING(fabs, "write abs(x)")
PENCIL_MISSING(fmax, "write max(x, y)")
PENCIL_MISSING(fmin, "write min(x, y)")
PENCIL_MISSING(asin, "write the op by hand (docs/add-an-op.md)")
PENCIL_MISSING(acos, "write the op by hand (docs/add-an-op.md)")
PENCIL_MISSING(atan, "write the op by hand (docs/add-an-op.md)")
PENCIL_MISSING(atan2, "write the op by hand (docs/add-an-op.md)")
PENCIL_MISSING(tgamma, "write the op by hand (docs/add-an-op.md)")
PENCIL_MISSING(lgamma, "write the op by hand (docs/add-an-op.md)")
PENCIL_MISSING(floor, "its derivative is 0 and it jumps; write the op by hand (docs/add-an-op.md)")
PENCIL_MISSING(ceil, "its derivative is 0 and it jumps; write the op by hand (docs/add-an-op.md)")
PENCIL_MISSING(round, "its derivative is 0 and it jumps; write the op by hand (docs/add-an-op.md)")
PENCIL_MISSING(trunc, "its derivative is 0 and it jumps; write the op by hand (docs/add-an-op.md)")
PENCIL_MISSING(fmod, "it jumps; write the op by hand (docs/add-an-op.md)")

#undef PENCIL_MISSING

}  // namespace pencil::kernels
