#pragma once

#include <type_traits>

namespace pencil {

/// condition ? a : b of two numbers, in the form that lanes and Scalars understand too.
template <class A, class B>
requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>) constexpr std::common_type_t<A, B> select(
    bool condition, A a, B b) {
  if (condition) return static_cast<std::common_type_t<A, B>>(a);
  return static_cast<std::common_type_t<A, B>>(b);
}

}  // namespace pencil
