#include "autograd/kernels/builtin.hpp"
#include "autograd/kernels/isa/set.hpp"

namespace pencil::kernels {

template <>
const ElementwiseFamily<ArithmeticFormulas>& elementwise_family<ArithmeticFormulas, this_isa>() {
  static constexpr auto family = ElementwiseFamily<ArithmeticFormulas>::made_for<this_arch>();
  return family;
}

}  // namespace pencil::kernels
