#pragma once

#include <vector>

#include "optim/optimizer.hpp"

namespace pencil::optim {

struct SgdOptions {
  double learning_rate = 0.01;
  double momentum = 0;
  bool nesterov = false;  ///< look ahead along the momentum (Sutskever and others, 2013, in PyTorch's form)
};

struct SgdGroup {
  std::vector<Tensor> parameters;
  SgdOptions options = {};
};

/// Gradient descent with momentum: m = momentum · m + g, w −= rate · m (PyTorch's form: a new rate acts on
/// the whole of m at once). Nesterov: w −= rate · (g + momentum · m).
///
/// Throws Error when made with a rate that is no finite number from 0, a momentum outside [0, 1), with a
/// tensor that is no parameter, or with one twice.
class SGD : public Optimizer {
 public:
  explicit SGD(std::vector<Tensor> parameters, SgdOptions options = {}, StepOptions step = {});
  explicit SGD(std::vector<SgdGroup> groups, StepOptions step = {});

  const SgdOptions& options(std::size_t group = 0) const { return options_.at(group); }
  void set_learning_rate(double rate, std::size_t group = 0);

 private:
  void update(const Update& update) const override;
  std::vector<SgdOptions> options_;
};

}  // namespace pencil::optim
