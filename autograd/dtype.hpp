#pragma once

#include <cstdint>
#include <type_traits>

namespace pencil {

/// What a tensor's numbers are: 32-bit floats, 64-bit floats, 32-bit whole numbers (tokens, masks, labels).
enum class DType : std::uint8_t { f32, f64, i32 };

inline constexpr DType f32 = DType::f32;
inline constexpr DType f64 = DType::f64;
inline constexpr DType i32 = DType::i32;

constexpr std::int64_t bytes_of(DType dtype) { return dtype == f64 ? 8 : 4; }
constexpr bool is_float(DType dtype) { return dtype != i32; }
constexpr const char* name_of(DType dtype) { return dtype == f32 ? "f32" : dtype == f64 ? "f64" : "i32"; }

/// The dtype that stores a C++ type: float, double or std::int32_t.
template <class T>
constexpr DType dtype_of() {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double> || std::is_same_v<T, std::int32_t>,
                "tensors hold float, double or std::int32_t");
  return std::is_same_v<T, float> ? f32 : std::is_same_v<T, double> ? f64 : i32;
}

/// Calls f(T{}) with the C++ type of a dtype.
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case f32:
      return f(float{});
    case f64:
      return f(double{});
    default:
      return f(std::int32_t{});
  }
}

/// The same for float and double only; the caller has checked is_float.
template <class F>
decltype(auto) dispatch_float(DType dtype, F&& f) {
  return dtype == f64 ? f(double{}) : f(float{});
}

}  // namespace pencil
