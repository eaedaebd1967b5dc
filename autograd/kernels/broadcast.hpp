// How the elements of several inputs meet: NumPy's broadcasting, worked out once per call and without
// allocating.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>

namespace pencil::kernels {

/// A walk over `size` output elements in row-major order, and for each input where it stands at each of them.
/// Axes of extent 1 are dropped, and axes that every input passes in one go are merged.
struct Broadcast {
  static constexpr int max_axes = 8;
  static constexpr int max_inputs = 4;

  int axes = 0;
  int inputs = 0;
  std::int64_t size = 1;
  std::int64_t extent[max_axes]{};
  /// stride[input][axis] in elements; 0 where the input is repeated. That of the last axis is 0 or 1.
  std::int64_t stride[max_inputs][max_axes]{};
  /// An input with period p > 0 is read as x[i mod p] at output element i: size if it has the output's shape,
  /// 1 for a single number, the width for a bias. 0 for every other pattern.
  std::int64_t period[max_inputs]{};
  bool flat = true;  ///< every input has the output's shape
};

/// The walk for row-major inputs of the given sizes into an output of sizes `out` (at most 8 axes, at most 4
/// inputs). Inputs are aligned at their last axes; each of their sizes is the output's or 1.
Broadcast plan(std::span<const std::int64_t> out,
               std::initializer_list<std::span<const std::int64_t>> inputs);
Broadcast plan(std::span<const std::int64_t> out, std::span<const std::span<const std::int64_t>> inputs);

/// The walk over n elements where every input has the output's shape.
Broadcast flat_plan(std::int64_t n, int inputs);

/// Writes what `input` contributes to output elements begin … begin + n − 1, converted to To.
template <class From, class To>
void gather(const Broadcast& walk, int input, const From* x, std::int64_t begin, std::int64_t n, To* out);

}  // namespace pencil::kernels
