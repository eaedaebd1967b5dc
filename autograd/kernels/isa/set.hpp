// The instruction set that a file of kernels/isa/ is being compiled for.
#pragma once

#include "autograd/kernels/dispatch.hpp"
#include "autograd/kernels/lane.hpp"

namespace pencil::kernels {
namespace {

constexpr Isa this_isa = PENCIL_ISA_OF_FLAGS;
using this_arch = BestArch;

}  // namespace
}  // namespace pencil::kernels
