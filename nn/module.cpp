#include "nn/module.hpp"

#include <algorithm>
#include <map>

namespace pencil::nn {

Tensor Module::operator()(const Located& x) const {
  const Scope scope(WholePath{path_}, x.where);
  return forward(x);
}

void Module::train(bool training) {
  struct SetMode : Visitor {
    explicit SetMode(bool on) : training(on) {}
    void module(const std::string&, Module& child) override { child.training_ = training; }
    bool training;
  } mode(training);
  training_ = training;
  mode.walk(*this);
}

void Visitor::walk(Module& root) {
  prefix_ = root.path_;
  root.visit(*this);
}

std::string Visitor::whole(const std::string& path) const {
  return prefix_.empty() ? path : fmt::format("{}.{}", prefix_, path);
}

std::string Visitor::path_of(std::string_view name) {
  if (name.empty() || name.find('.') != std::string_view::npos)
    fail("[visit] '{}' cannot name a child of '{}': need a name without dots", name, path_);
  if (std::ranges::find(names_, name) != names_.end())
    fail("[visit] '{}' names two children of '{}'", name, path_);
  names_.emplace_back(name);
  return path_.empty() ? std::string(name) : fmt::format("{}.{}", path_, name);
}

void Visitor::operator()(std::string_view name, Module& child) {
  std::string outer = std::exchange(path_, path_of(name));
  std::vector<std::string> names = std::exchange(names_, {});
  child.path_ = whole(path_);
  module(path_, child);
  child.visit(*this);
  path_ = std::move(outer);
  names_ = std::move(names);
}

void Visitor::operator()(std::string_view name, Tensor& parameter_) {
  const std::string path = path_of(name);
  if (!parameter_.defined() || !parameter_.is_parameter())
    fail("[visit] '{}' is not a parameter: make it with parameter(…), or leave it out of visit", path);
  parameter(path, parameter_);
}

void detail::copy_modes(Module& from, Module& to) {
  struct Read : Visitor {
    void module(const std::string& path, Module& child) override { modes.emplace(path, child.training()); }
    std::map<std::string, bool> modes;
  } read;
  read.walk(from);
  struct Set : Visitor {
    void module(const std::string& path, Module& child) override {
      if (const auto mode = modes.find(path); mode != modes.end()) child.train(mode->second);
    }
    std::map<std::string, bool> modes;
  } set;
  set.modes = std::move(read.modes);
  to.train(from.training());
  set.walk(to);
}

std::vector<NamedTensor> named_parameters(Module& model) {
  struct Collect : Visitor {
    void parameter(const std::string& path, Tensor& found) override {
      for (const NamedTensor& known : all)
        if (same(known.tensor, found)) return;  // shared by two modules: the first path stands
      all.push_back({path, named(found, whole(path))});
    }
    std::vector<NamedTensor> all;
  } collect;
  collect.walk(model);
  return std::move(collect.all);
}

std::vector<Tensor> parameters(Module& model) {
  std::vector<Tensor> all;
  for (NamedTensor& found : named_parameters(model)) all.push_back(std::move(found.tensor));
  return all;
}

std::int64_t parameter_count(Module& model) {
  std::int64_t count = 0;
  for (const Tensor& each : parameters(model)) count += each.size();
  return count;
}

void freeze(Module& model, bool frozen) {
  for (const Tensor& each : parameters(model)) each.set_frozen(frozen);
}

std::vector<NamedTensor> state(Module& model) {
  std::vector<NamedTensor> all = named_parameters(model);
  for (NamedTensor& each : all) each.tensor = copy(each.tensor);
  return all;
}

void load_state(Module& model, const std::vector<NamedTensor>& tensors) {
  std::vector<NamedTensor> wanted = named_parameters(model);
  const auto find = [](const std::vector<NamedTensor>& list, const std::string& name) {
    return std::ranges::find(list, name, &NamedTensor::name);
  };
  std::string wrong;
  for (const NamedTensor& each : wanted) {
    const auto given = find(tensors, each.name);
    if (given == tensors.end()) {
      wrong += fmt::format("\n  missing: {} {}", each.name, each.tensor.shape());
    } else if (given->tensor.shape() != each.tensor.shape() || !is_float(given->tensor.dtype())) {
      wrong += fmt::format("\n  misshapen: {} is {} of {}, the model needs {} of {}", each.name,
                           given->tensor.shape(), name_of(given->tensor.dtype()), each.tensor.shape(),
                           name_of(each.tensor.dtype()));
    }
  }
  for (const NamedTensor& each : tensors)
    if (find(wanted, each.name) == wanted.end())
      wrong += fmt::format("\n  unexpected: {} {}", each.name, each.tensor.shape());
  if (!wrong.empty()) fail("[load] the tensors do not fit the model:{}", wrong);
  for (NamedTensor& each : wanted)
    each.tensor.assign(find(tensors, each.name)->tensor.to(each.tensor.dtype()));
}

}  // namespace pencil::nn
