#include "optim/sgd.hpp"

#include <algorithm>

#include "optim/groups.hpp"
#include "optim/update.hpp"

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
  const detail::SgdUpdate step{.scale = u.scale,
                               .rate = options.learning_rate * u.factor,
                               .momentum = options.momentum,
                               .nesterov = options.nesterov};
  dispatch_float(u.gradient.dtype(), [&]<class T>(T) {
    T* m = u.slot.moments.empty() ? nullptr : u.moment<T>(0);
    detail::sgd_update(step, u.size(), u.g<T>(), u.w<T>(), m);
  });
}

}  // namespace pencil::optim
