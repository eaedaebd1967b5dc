#include "autograd/kernels/builtin.hpp"
#include "autograd/kernels/isa/set.hpp"

namespace pencil::kernels {

template <>
const ElementwiseFamily<ExponentialFormulas>& elementwise_family<ExponentialFormulas, this_isa>() {
  static constexpr auto family = ElementwiseFamily<ExponentialFormulas>::made_for<this_arch>();
  return family;
}

}  // namespace pencil::kernels
