#pragma once

// When two steps of a tape do the same thing at different places, as the turns of a loop do.

#include <cstdint>

#include "autograd/tape.hpp"

namespace pencil::inspect {

/// Whether two steps agree in kind, op, role, shape, dtype, which of their inputs are plain numbers, and, up
/// to the digits in them, in path and name: "layers.0.query" is like "layers.11.query". Not asked: values,
/// settings, and where the inputs come from.
bool alike(const Step& a, const Step& b);
/// Equal for steps that are alike, and hardly ever for others.
std::uint64_t likeness(const Step& step);

/// Puts one more number into a hash.
constexpr std::uint64_t mixed(std::uint64_t hash, std::uint64_t with) {
  hash = (hash ^ with) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

}  // namespace pencil::inspect
