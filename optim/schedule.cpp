#include "optim/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "autograd/error.hpp"

namespace pencil::optim {

Schedule constant(double factor) {
  return [factor](std::int64_t) { return factor; };
}

Schedule linear_warmup(std::int64_t steps, Schedule after) {
  if (steps < 0) fail("[linear_warmup] {} steps; need 0 or more", steps);
  if (!after) fail("[linear_warmup] the schedule to follow is empty; leave it out for a constant rate");
  return [steps, after = std::move(after)](std::int64_t step) {
    return step > steps ? after(step - steps) : static_cast<double>(step) / static_cast<double>(steps);
  };
}

Schedule cosine(std::int64_t steps, double last) {
  if (steps < 1) fail("[cosine] {} steps; need at least 1", steps);
  return [steps, last](std::int64_t step) {
    const double done =
        static_cast<double>(std::clamp<std::int64_t>(step - 1, 0, steps)) / static_cast<double>(steps);
    return last + (1 - last) * (1 + std::cos(std::numbers::pi * done)) / 2;
  };
}

}  // namespace pencil::optim
