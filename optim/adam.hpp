#pragma once

#include <vector>

#include "optim/optimizer.hpp"

namespace pencil::optim {

/// Where Adam's bias corrections stand. With t updates made, c1 = 1 − beta1^t and c2 = 1 − beta2^t:
///   keras  w −= rate √c2 / c1 · m / (√v + epsilon)          epsilon is the paper's "epsilon hat" (section 2)
///   paper  w −= rate · (m / c1) / (√(v / c2) + epsilon)     Algorithm 1; PyTorch's
/// Kingma and Ba, Adam: A Method for Stochastic Optimization, 2015. PyTorch's default epsilon is 1e-8.
enum class AdamForm : std::uint8_t { keras, paper };

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  AdamForm form = AdamForm::keras;
};

/// Some of the parameters, with options of their own.
struct AdamGroup {
  std::vector<Tensor> parameters;
  AdamOptions options = {};
};

/// Adam. Every number of a parameter that has a gradient moves by its decaying first moment, also where the
/// gradient is 0 (as in Keras and PyTorch).
///
/// Throws Error when made with a rate that is no finite number from 0, a beta outside [0, 1), an epsilon that
/// is not above 0, with a tensor that is no parameter, or with one twice.
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<Tensor> parameters, AdamOptions options = {}, StepOptions step = {});
  explicit Adam(std::vector<AdamGroup> groups, StepOptions step = {});

  const AdamOptions& options(std::size_t group = 0) const { return options_.at(group); }
  void set_learning_rate(double rate, std::size_t group = 0);

 private:
  void update(const Update& update) const override;
  std::vector<AdamOptions> options_;
};

struct AdamWOptions {
  double learning_rate = 1e-3;
  double weight_decay = 0.004;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-7;
  AdamForm form = AdamForm::keras;
};

struct AdamWGroup {
  std::vector<Tensor> parameters;
  AdamWOptions options = {};
};

/// Adam with decoupled weight decay: w is first multiplied by 1 − rate · weight_decay, then updated as by
/// Adam; moments never see the decay (Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2019).
/// Weights of a parameter without a gradient do not decay.
class AdamW : public Optimizer {
 public:
  explicit AdamW(std::vector<Tensor> parameters, AdamWOptions options = {}, StepOptions step = {});
  explicit AdamW(std::vector<AdamWGroup> groups, StepOptions step = {});

  const AdamWOptions& options(std::size_t group = 0) const { return options_.at(group); }
  void set_learning_rate(double rate, std::size_t group = 0);

 private:
  void update(const Update& update) const override;
  std::vector<AdamWOptions> options_;
};

}  // namespace pencil::optim
