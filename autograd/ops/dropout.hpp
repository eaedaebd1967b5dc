#pragma once

#include "autograd/op.hpp"

namespace pencil {

/// Number i of x becomes 0 where unit(mix(key + i)) < rate (random.hpp), and is scaled by 1 / (1 − rate)
/// elsewhere: the mask depends on key and place alone and is never stored. rate 0 changes nothing, rate 1
/// gives zeros. Throws Error for a rate outside 0 … 1. (Srivastava et al.: Dropout, 2014.)
Tensor dropout(const Located& x, double rate, std::uint64_t key);

}  // namespace pencil
