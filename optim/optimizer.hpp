#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/inspect/flow.hpp"
#include "autograd/tensor.hpp"
#include "optim/gradients.hpp"
#include "optim/schedule.hpp"

namespace pencil::optim {

/// What holds for an optimizer's steps as a whole.
struct StepOptions {
  /// The largest norm that all gradients together may have; larger ones are scaled down (see clip_norm). 0:
  /// no limit.
  double clip_norm = 0;
  /// Multiplies every group's learning rate. None: 1.
  Schedule schedule = {};
  /// Whether reports hold the norms of updates and weights, which cost another pass over both.
  bool norms = false;
};

/// What a step did to one parameter; the last two norms with StepOptions::norms.
using ParameterReport = ParameterUpdate;

/// What a step did. Parameters without a name are called "parameter 3", by their place in the optimizer.
struct StepReport {
  std::int64_t step = 0;                    ///< its number, from 1
  double factor = 1;                        ///< of the learning rates, by the schedule
  double gradient_norm = 0;                 ///< over all gradients used, before clipping
  double scale = 1;                         ///< what clipping multiplied the gradients by
  std::vector<ParameterReport> parameters;  ///< those that were updated
  std::vector<std::string> skipped;         ///< those that had no gradient, or are frozen
  /// Parameters that the tape alive on this thread brought a gradient to and that no optimizer holds: usually
  /// forgotten ones.
  std::vector<std::string> unheld;

  /// So that `flow(tape, adam.step())` says whether gradients flow (autograd/inspect/flow.hpp).
  operator std::span<const ParameterUpdate>() const { return parameters; }  // NOLINT: silent on purpose
};

/// Parameters and what updates them: the common part of all optimizers.
///
/// Invariants: (1) a step uses each parameter's gradient once and clears it. (2) A step that throws has
/// changed no weight, moment, gradient or count. (3) A parameter's bias corrections count its own updates, so
/// one that gets its first gradient late starts as one that gets it early.
class Optimizer {
 public:
  virtual ~Optimizer() = default;

  /// Updates every parameter that has a gradient. Throws Error for a gradient that is not finite, naming the
  /// parameter, the position and the number, and for a schedule that gives no finite number from 0.
  StepReport step(Where where = Where::current());

  /// How many steps have been made.
  std::int64_t steps() const { return steps_; }
  /// All parameters, group by group.
  const std::vector<Tensor>& parameters() const { return held_.parameters(); }

  using State = std::vector<std::pair<std::string, Tensor>>;
  /// Copies of all moments and counts by name ("first_moment.embed.weight"), as a tensor file takes them. An
  /// optimizer of the same kind and parameters that loads them goes on as this one would. Throws Error where
  /// two parameters have one name.
  State state() const;
  /// Throws Error for missing, unexpected and misshapen names, and then changes nothing.
  void load_state(const State& state);

 protected:
  struct Slot {
    std::size_t group = 0;
    std::int64_t updates = 0;
    std::vector<Tensor> moments;  // none before the first update
  };
  /// One parameter's update: its numbers to be written, its gradient to be multiplied by `scale`, and the
  /// `factor` of the learning rate.
  struct Update {
    Slot& slot;
    const Tensor& gradient;
    void* weights;
    double scale;
    double factor;

    std::int64_t size() const { return gradient.size(); }
    template <class T>
    const T* g() const {
      return gradient.values<T>().data();
    }
    template <class T>
    T* w() const {
      return static_cast<T*>(weights);
    }
    template <class T>
    T* moment(std::size_t i) const {
      return slot.moments[i].template writable<T>().data();
    }
  };

  /// One group of parameters after the other; `moments` names what is kept for each parameter.
  Optimizer(const char* word, std::vector<std::vector<Tensor>> groups, std::vector<std::string> moments,
            StepOptions options);
  Optimizer(Optimizer&&) = default;
  Optimizer& operator=(Optimizer&&) = default;

  /// Updates one parameter, whose moments exist and whose count includes this update. Must not throw.
  virtual void update(const Update& update) const = 0;

 private:
  std::string name(std::size_t i) const { return detail::label(parameters()[i], i); }
  std::vector<std::string> unheld() const;
  void make_moments(std::size_t i);

  const char* word_;
  std::vector<std::string> moments_;
  StepOptions options_;
  detail::Held held_;
  std::vector<Slot> slots_;  // one a parameter
  std::int64_t steps_ = 0;
};

}  // namespace pencil::optim
