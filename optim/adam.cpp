#include "optim/adam.hpp"

#include <cmath>

#include "autograd/kernels/optimizer.hpp"
#include "optim/groups.hpp"

namespace pencil::optim {

namespace {

const std::vector<std::string> moments{"first_moment", "second_moment"};

template <class Options>
void check(const char* who, const Options& options) {
  detail::need_rate(who, "learning rate", options.learning_rate);
  for (const double beta : {options.beta1, options.beta2})
    if (!(beta >= 0 && beta < 1))
      fail("[{}] beta1 is {} and beta2 is {}; need 0 <= beta < 1", who, options.beta1, options.beta2);
  if (!(options.epsilon > 0) || std::isinf(options.epsilon))
    fail("[{}] epsilon is {}; need a finite number above 0", who, options.epsilon);
}

void check_decay(const AdamWOptions& options) {
  check("adamw", options);
  detail::need_rate("adamw", "weight decay", options.weight_decay);
}

// The settings of one update as the kernels take them.
template <class Options>
kernels::AdamSettings settings_for(const Options& options, double scale, double factor, double decay) {
  return {.learning_rate = options.learning_rate * factor,
          .beta1 = options.beta1,
          .beta2 = options.beta2,
          .epsilon = options.epsilon,
          .form = options.form == AdamForm::keras ? kernels::AdamForm::hat : kernels::AdamForm::paper,
          .weight_decay = decay,
          .gradient_scale = scale};
}

}  // namespace

Adam::Adam(std::vector<Tensor> parameters, AdamOptions options, StepOptions step)
    : Adam(detail::one_group<AdamGroup>(std::move(parameters), options), std::move(step)) {}

Adam::Adam(std::vector<AdamGroup> groups, StepOptions step)
    : Optimizer("adam", detail::parameters_of(groups), moments, std::move(step)),
      options_(detail::options_of(groups)) {
  for (const AdamOptions& options : options_) check("adam", options);
}

void Adam::set_learning_rate(double rate, std::size_t group) {
  detail::need_rate("adam", "learning rate", rate);
  options_.at(group).learning_rate = rate;
}

void Adam::update(const Update& u) const {
  const kernels::AdamSettings settings = settings_for(options_[u.slot.group], u.scale, u.factor, 0);
  dispatch_float(u.gradient.dtype(), [&]<class T>(T) {
    kernels::adam<T>(u.size(), settings, u.slot.updates, u.w<T>(), u.g<T>(), u.moment<T>(0), u.moment<T>(1));
  });
}

AdamW::AdamW(std::vector<Tensor> parameters, AdamWOptions options, StepOptions step)
    : AdamW(detail::one_group<AdamWGroup>(std::move(parameters), options), std::move(step)) {}

AdamW::AdamW(std::vector<AdamWGroup> groups, StepOptions step)
    : Optimizer("adamw", detail::parameters_of(groups), moments, std::move(step)),
      options_(detail::options_of(groups)) {
  for (const AdamWOptions& options : options_) check_decay(options);
}

void AdamW::set_learning_rate(double rate, std::size_t group) {
  detail::need_rate("adamw", "learning rate", rate);
  options_.at(group).learning_rate = rate;
}

void AdamW::update(const Update& u) const {
  const AdamWOptions& options = options_[u.slot.group];
  const kernels::AdamSettings settings = settings_for(options, u.scale, u.factor, options.weight_decay);
  dispatch_float(u.gradient.dtype(), [&]<class T>(T) {
    kernels::adam<T>(u.size(), settings, u.slot.updates, u.w<T>(), u.g<T>(), u.moment<T>(0), u.moment<T>(1));
  });
}

}  // namespace pencil::optim
