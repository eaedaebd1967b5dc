// What an outside project sees: Pencil's headers by their paths from its root, and its libraries behind one
// target. Its own formula is compiled for the instruction set of this file, beside a library tuned to the
// machine.
#include <fmt/format.h>

#include "autograd/autograd.hpp"
#include "nn/nn.hpp"
#include "optim/optim.hpp"

using namespace pencil;

int main() {
  const auto swish = elementwise("swish", [](auto x) { return x / (1 + exp(-x)); });
  Rng rng{7};
  const nn::Dense dense({.in = 2, .out = 1}, rng);
  Tensor w = parameter(tensor({{1, 2}, {3, 4}}), "w");
  optim::SGD sgd({w}, {.learning_rate = 0.5});

  Tape tape;
  const Tensor loss = sum(square(matmul(w, w))) + sum(swish(w - w));
  tape.backward(loss);
  fmt::print("{}\n{}\n", dump(tape), w.grad());
  const std::vector<double> gradient = w.grad().to_vector();
  sgd.step();

  const bool right = loss.item() == 49 + 100 + 225 + 484 && dense(w).shape() == Shape{2, 1} &&
                     w.to_vector()[0] == 1 - 0.5 * gradient[0];
  return right ? 0 : 1;
}
