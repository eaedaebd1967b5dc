#pragma once

#include <cstdint>
#include <functional>

namespace pencil::optim {

/// What a step's learning rates are multiplied by; steps count from 1. Any callable will do:
/// `[](std::int64_t step) { return 1.0 / std::sqrt(step); }`.
using Schedule = std::function<double(std::int64_t step)>;

/// The same factor at every step.
Schedule constant(double factor = 1);

/// step / steps up to 1, which the step numbered `steps` is the first to reach; behind it `after`, whose
/// steps count from 1 again. Throws Error for steps < 0.
Schedule linear_warmup(std::int64_t steps, Schedule after = constant());

/// Half a cosine wave: 1 at the first step, `last` once `steps` steps have been made, and from then on
/// (Loshchilov and Hutter, SGDR, 2017, eq. 5, without restarts). Throws Error for steps < 1.
Schedule cosine(std::int64_t steps, double last = 0);

}  // namespace pencil::optim
