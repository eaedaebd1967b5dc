#pragma once

// Where numbers of a tensor stand.

#include <cstdint>
#include <span>
#include <string>

#include "autograd/shape.hpp"

namespace pencil::inspect {

/// Some numbers of a shape, by their row-major places in any order: "[0, 2]" for one, "[0, 0…3]" where they
/// fill a box, else the first few one by one; "" for rank 0.
std::string places_text(const Shape& shape, std::span<const std::int64_t> places);

}  // namespace pencil::inspect
