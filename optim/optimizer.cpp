#include "optim/optimizer.hpp"

#include <cmath>
#include <map>
#include <set>
#include <unordered_set>

#include "autograd/create.hpp"
#include "autograd/tape.hpp"

namespace pencil::optim {

namespace {

std::vector<Tensor> joined(std::vector<std::vector<Tensor>>& groups) {
  std::vector<Tensor> all;
  for (auto& group : groups)
    for (Tensor& parameter : group) all.push_back(std::move(parameter));
  return all;
}

void* writable(Tensor parameter, Where where) {
  return dispatch_float(parameter.dtype(),
                        [&]<class T>(T) -> void* { return parameter.writable<T>(where).data(); });
}

/// |a − b|, of one dtype.
double distance(const Tensor& a, const Tensor& b) {
  Tensor difference = empty(a.shape(), a.dtype());
  dispatch_float(a.dtype(), [&]<class T>(T) {
    const auto x = a.values<T>(), y = b.values<T>();
    const auto out = difference.writable<T>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = x[i] - y[i];
  });
  return detail::norm(difference);
}

}  // namespace

Optimizer::Optimizer(const char* word, std::vector<std::vector<Tensor>> groups,
                     std::vector<std::string> moments, StepOptions options)
    : word_(word), moments_(std::move(moments)), options_(std::move(options)) {
  if (!(options_.clip_norm >= 0))
    fail("[{}] clip_norm is {}; need a number above 0, or 0 for no limit", word_, options_.clip_norm);
  for (std::size_t group = 0; group < groups.size(); ++group)
    slots_.insert(slots_.end(), groups[group].size(), Slot{.group = group, .updates = 0, .moments = {}});
  std::vector<Tensor> all = joined(groups);
  std::unordered_set<const void*> seen;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Tensor& parameter = all[i];
    if (!parameter.defined() || !parameter.is_parameter())
      fail("[{}] tensor {} of those to be optimized is no parameter (make it one with parameter(x))", word_,
           i);
    if (!seen.insert(pencil::detail::Body::of(parameter)).second)
      fail("[{}] parameter '{}' is given twice", word_, detail::label(parameter, i));
  }
  held_ = detail::Held(std::move(all));
}

StepReport Optimizer::step(Where where) {
  StepReport report;
  report.step = steps_ + 1;
  if (options_.schedule) report.factor = options_.schedule(report.step);
  if (!(report.factor >= 0) || std::isinf(report.factor))
    fail("[{}] the schedule gives {} for step {}; need a finite number from 0", word_, report.factor,
         report.step);

  std::vector<std::size_t> used;
  std::vector<Tensor> gradients;
  std::vector<double> norms;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Tensor& parameter = parameters()[i];
    if (parameter.frozen() || !parameter.has_grad()) {
      report.skipped.push_back(name(i));
      continue;
    }
    used.push_back(i);
    gradients.push_back(parameter.grad());
    norms.push_back(detail::finite_norm(word_, gradients.back(), name(i)));
    report.parameters.push_back({.name = name(i), .parameter = parameter, .gradient_norm = norms.back()});
  }
  report.gradient_norm = detail::joined(norms);
  if (options_.clip_norm > 0 && report.gradient_norm > options_.clip_norm)
    report.scale = options_.clip_norm / report.gradient_norm;
  report.unheld = unheld();

  // What can run out of memory comes before the first change.
  std::vector<void*> weights;
  std::vector<Tensor> before;
  for (const std::size_t i : used) {
    make_moments(i);
    if (options_.norms) before.push_back(copy(parameters()[i]));
  }
  for (const std::size_t i : used) weights.push_back(writable(parameters()[i], where));

  for (std::size_t k = 0; k < used.size(); ++k) {
    Slot& slot = slots_[used[k]];
    ++slot.updates;
    update({slot, gradients[k], weights[k], report.scale, report.factor});
    parameters()[used[k]].clear_grad();
  }
  ++steps_;

  if (options_.norms)
    for (std::size_t k = 0; k < used.size(); ++k) {
      report.parameters[k].update_norm = distance(parameters()[used[k]], before[k]);
      report.parameters[k].weight_norm = detail::norm(parameters()[used[k]]);
    }
  return report;
}

std::vector<std::string> Optimizer::unheld() const {
  std::vector<std::string> names;
  const Tape* tape = Tape::current();
  if (tape == nullptr || tape->backward_from() < 0) return names;
  for (int number = 0; number < tape->size(); ++number) {
    const Step step = tape->step(number);
    if (step.kind() != StepKind::parameter || !step.reached()) continue;
    const Tensor& parameter = step.raw_output();
    if (parameter.has_grad() && !detail::Held::any(parameter))
      names.push_back(parameter.name().empty() ? fmt::format("parameter of shape {}", parameter.shape())
                                               : parameter.name());
  }
  return names;
}

void Optimizer::make_moments(std::size_t i) {
  std::vector<Tensor>& moments = slots_[i].moments;
  while (moments.size() < moments_.size())
    moments.push_back(zeros(parameters()[i].shape(), parameters()[i].dtype()));
}

Optimizer::State Optimizer::state() const {
  State state{{"steps", full({}, static_cast<double>(steps_), f64)}};
  std::set<std::string> names;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!names.insert(name(i)).second)
      fail("[{}] two parameters are named '{}', so the state cannot be told apart by names", word_, name(i));
    const Slot& slot = slots_[i];
    if (slot.updates == 0) continue;
    state.emplace_back("updates." + name(i), full({}, static_cast<double>(slot.updates), f64));
    for (std::size_t k = 0; k < moments_.size(); ++k)
      state.emplace_back(moments_[k] + "." + name(i), copy(slot.moments[k]));
  }
  return state;
}

void Optimizer::load_state(const State& state) {
  std::map<std::string, Tensor> given;
  for (const auto& [key, tensor] : state)
    if (!given.emplace(key, tensor).second) fail("[{}] the state holds '{}' twice", word_, key);

  std::string wrong;
  const auto take = [&](const std::string& key, const Shape& shape, DType dtype) {
    const auto found = given.find(key);
    if (found == given.end()) {
      wrong += fmt::format("; missing: {}", key);
      return Tensor();
    }
    const Tensor tensor = found->second;
    given.erase(found);
    if (tensor.shape() == shape && tensor.dtype() == dtype) return tensor;
    wrong += fmt::format("; misshapen: {} is {} {}, need {} {}", key, name_of(tensor.dtype()), tensor.shape(),
                         name_of(dtype), shape);
    return Tensor();
  };
  const auto count = [&](const std::string& key) {
    const Tensor tensor = take(key, {}, f64);
    if (!tensor.defined()) return std::int64_t{0};
    const double value = tensor.item();
    if (value >= 0 && value < 0x1p53 && std::trunc(value) == value) return static_cast<std::int64_t>(value);
    wrong += fmt::format("; no count: {} is {}", key, value);
    return std::int64_t{0};
  };

  const std::int64_t steps = count("steps");
  std::vector<Slot> slots;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot slot{.group = slots_[i].group, .updates = 0, .moments = {}};
    if (given.contains("updates." + name(i))) {
      slot.updates = count("updates." + name(i));
      for (const std::string& moment : moments_) {
        const Tensor tensor = take(moment + "." + name(i), parameters()[i].shape(), parameters()[i].dtype());
        if (tensor.defined()) slot.moments.push_back(copy(tensor));
      }
    }
    slots.push_back(std::move(slot));
  }
  for (const auto& [key, tensor] : given) wrong += fmt::format("; unexpected: {}", key);
  if (!wrong.empty()) fail("[{}] the state does not fit the optimizer: {}", word_, wrong.substr(2));
  slots_ = std::move(slots);
  steps_ = steps;
}

}  // namespace pencil::optim
