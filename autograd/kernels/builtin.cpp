#include "autograd/kernels/builtin.hpp"

namespace pencil::kernels {

template <class List>
const ElementwiseFamily<List>& elementwise_family() {
  static const ElementwiseFamily<List>& family =
      choose([]<Isa set>() -> const ElementwiseFamily<List>& { return elementwise_family<List, set>(); });
  return family;
}

template const ElementwiseFamily<ArithmeticFormulas>& elementwise_family();
template const ElementwiseFamily<ExponentialFormulas>& elementwise_family();
template const ElementwiseFamily<SpecialFormulas>& elementwise_family();

}  // namespace pencil::kernels
