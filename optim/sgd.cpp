#include "optim/sgd.hpp"

#include <algorithm>

#include "autograd/kernels/optimizer.hpp"
#include "optim/groups.hpp"

namespace pencil::optim {

namespace {

std::vector<std::string> moments_for(const std::vector<SgdGroup>& groups) {
  const bool any = std::any_of(groups.begin(), groups.end(),
                               [](const SgdGroup& group) { return group.options.momentum != 0; });
  return any ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
}

}  // namespace

SGD::SGD(std::vector<Tensor> parameters, SgdOptions options, StepOptions step)
    : SGD(detail::one_group<SgdGroup>(std::move(parameters), options), std::move(step)) {}

SGD::SGD(std::vector<SgdGroup> groups, StepOptions step)
    : Optimizer("sgd", detail::parameters_of(groups), moments_for(groups), std::move(step)),
      options_(detail::options_of(groups)) {
  for (const SgdOptions& options : options_) {
    detail::need_rate("sgd", "learning rate", options.learning_rate);
    if (!(options.momentum >= 0 && options.momentum < 1))
      fail("[sgd] the momentum is {}; need 0 <= momentum < 1", options.momentum);
  }
}

void SGD::set_learning_rate(double rate, std::size_t group) {
  detail::need_rate("sgd", "learning rate", rate);
  options_.at(group).learning_rate = rate;
}

void SGD::update(const Update& u) const {
  const SgdOptions& options = options_[u.slot.group];
  const kernels::MomentumSettings settings{.learning_rate = options.learning_rate * u.factor,
                                           .momentum = options.momentum,
                                           .nesterov = options.nesterov,
                                           .gradient_scale = u.scale};
  dispatch_float(u.gradient.dtype(), [&]<class T>(T) {
    T* momentum = u.slot.moments.empty() ? nullptr : u.moment<T>(0);
    kernels::momentum_step<T>(u.size(), settings, u.w<T>(), u.g<T>(), momentum);
  });
}

}  // namespace pencil::optim
