#include "autograd/kernels/broadcast.hpp"

#include <algorithm>
#include <cassert>

namespace pencil::kernels {
namespace {

/// The period of an input: its innermost axes are read in full, all axes outside them are repeats.
std::int64_t period_of(const Broadcast& walk, int input) {
  std::int64_t covered = 1;
  int axis = walk.axes - 1;
  for (; axis >= 0 && walk.stride[input][axis] == covered; --axis) covered *= walk.extent[axis];
  for (; axis >= 0; --axis)
    if (walk.stride[input][axis] != 0) return 0;
  return covered;
}

}  // namespace

Broadcast plan(std::span<const std::int64_t> out, std::span<const std::span<const std::int64_t>> inputs) {
  assert(out.size() <= Broadcast::max_axes && inputs.size() <= Broadcast::max_inputs);
  Broadcast walk;
  walk.inputs = static_cast<int>(inputs.size());

  // Axes from the last to the first, so that merging sees the inner one first; turned round at the end.
  std::int64_t contiguous[Broadcast::max_inputs] = {1, 1, 1, 1};  // stride of the next axis of each input
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::int64_t extent = out[out.size() - 1 - i];
    walk.size *= extent;
    std::int64_t stride[Broadcast::max_inputs] = {};
    for (std::size_t k = 0; k < inputs.size(); ++k) {
      const std::int64_t own = i < inputs[k].size() ? inputs[k][inputs[k].size() - 1 - i] : 1;
      assert(own == extent || own == 1);
      stride[k] = own == 1 ? 0 : contiguous[k];
      contiguous[k] *= own;
    }
    if (extent == 1) continue;
    const int last = walk.axes - 1;
    bool merges = walk.axes > 0;
    for (int k = 0; k < walk.inputs && merges; ++k)
      merges = stride[k] == walk.stride[k][last] * walk.extent[last];
    if (merges) {
      walk.extent[last] *= extent;
    } else {
      walk.extent[walk.axes] = extent;
      for (int k = 0; k < walk.inputs; ++k) walk.stride[k][walk.axes] = stride[k];
      ++walk.axes;
    }
  }
  std::reverse(walk.extent, walk.extent + walk.axes);
  for (auto& stride : walk.stride) std::reverse(stride, stride + walk.axes);

  for (int k = 0; k < walk.inputs; ++k) {
    walk.period[k] = period_of(walk, k);
    walk.flat = walk.flat && walk.period[k] == walk.size;
  }
  return walk;
}

Broadcast plan(std::span<const std::int64_t> out,
               std::initializer_list<std::span<const std::int64_t>> inputs) {
  return plan(out, std::span(inputs.begin(), inputs.size()));
}

Broadcast flat_plan(std::int64_t n, int inputs) {
  Broadcast walk;
  walk.axes = 1;
  walk.inputs = inputs;
  walk.size = n;
  walk.extent[0] = n;
  for (int k = 0; k < inputs; ++k) {
    walk.stride[k][0] = 1;
    walk.period[k] = n;
  }
  return walk;
}

template <class From, class To>
void gather(const Broadcast& walk, int input, const From* x, std::int64_t begin, std::int64_t n, To* out) {
  const std::int64_t* const stride = walk.stride[input];
  // Where element `begin` stands on each axis.
  std::int64_t at[Broadcast::max_axes] = {};
  std::int64_t offset = 0, left = begin;
  for (int axis = walk.axes - 1; axis >= 0; --axis) {
    at[axis] = left % walk.extent[axis];
    left /= walk.extent[axis];
    offset += at[axis] * stride[axis];
  }
  const int last = walk.axes - 1;
  while (n > 0) {
    const std::int64_t run = last < 0 ? 1 : std::min(n, walk.extent[last] - at[last]);
    if (last >= 0 && stride[last] == 1) {
      for (std::int64_t i = 0; i < run; ++i) out[i] = static_cast<To>(x[offset + i]);
      offset += run;
    } else {
      std::fill_n(out, run, static_cast<To>(x[offset]));
    }
    out += run;
    n -= run;
    if (n == 0) break;
    // The last axis is at its end: go on along the axes outside it.
    if (stride[last] == 1) offset -= walk.extent[last];
    at[last] = 0;
    for (int axis = last - 1; axis >= 0; --axis) {
      offset += stride[axis];
      if (++at[axis] < walk.extent[axis]) break;
      offset -= walk.extent[axis] * stride[axis];
      at[axis] = 0;
    }
  }
}

template void gather(const Broadcast&, int, const float*, std::int64_t, std::int64_t, float*);
template void gather(const Broadcast&, int, const double*, std::int64_t, std::int64_t, double*);
template void gather(const Broadcast&, int, const std::int32_t*, std::int64_t, std::int64_t, float*);
template void gather(const Broadcast&, int, const std::int32_t*, std::int64_t, std::int64_t, double*);

}  // namespace pencil::kernels
