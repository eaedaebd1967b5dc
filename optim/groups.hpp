// What optimizers do with their parameter groups; no part of the public interface.
#pragma once

#include <cmath>
#include <utility>
#include <vector>

#include "autograd/tensor.hpp"

namespace pencil::optim::detail {

template <class Group>
std::vector<Group> one_group(std::vector<Tensor> parameters, decltype(Group::options) options) {
  std::vector<Group> groups;
  groups.push_back({std::move(parameters), options});
  return groups;
}

template <class Group>
std::vector<std::vector<Tensor>> parameters_of(const std::vector<Group>& groups) {
  std::vector<std::vector<Tensor>> all;
  for (const Group& group : groups) all.push_back(group.parameters);
  return all;
}

template <class Group>
auto options_of(const std::vector<Group>& groups) {
  std::vector<decltype(Group::options)> all;
  for (const Group& group : groups) all.push_back(group.options);
  return all;
}

inline void need_rate(const char* who, const char* what, double rate) {
  if (!(rate >= 0) || std::isinf(rate))
    fail("[{}] the {} is {}; need a finite number from 0", who, what, rate);
}

}  // namespace pencil::optim::detail
