#include "autograd/kernels/builtin.hpp"
#include "autograd/kernels/isa/set.hpp"

namespace pencil::kernels {

template <>
const ElementwiseFamily<SpecialFormulas>& elementwise_family<SpecialFormulas, this_isa>() {
  static constexpr auto family = ElementwiseFamily<SpecialFormulas>::made_for<this_arch>();
  return family;
}

}  // namespace pencil::kernels
