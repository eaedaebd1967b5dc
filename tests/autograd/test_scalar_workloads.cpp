// The functions that Scalars are measured on: gradients against those written by hand. And long chains.

#include "autograd/inspect/statements.hpp"
#include "autograd/scalar.hpp"
#include "tests/autograd/support.hpp"
#include "tests/bench/scalar_workloads.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

template <class W>
double worst_error() {
  const W w;
  Numbers right(w.start.size());
  w.gradient(w.start.data(), right.data());
  Tape tape;
  const std::vector<Scalar> x = scalars(w.start);
  const Scalar y = w(x.data());
  tape.backward(y);
  const double plain = w(w.start.data());  // a compiler may fuse other multiplications and additions there
  CHECK(std::abs(y.value() - plain) <= 1e-14 * std::abs(plain));
  double worst = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    worst = std::max(worst, std::abs(x[i].grad() - right[i]) / std::max(1.0, std::abs(right[i])));
  return worst;
}

}  // namespace

TEST_CASE("gradients of the measured functions agree with those written by hand") {
  CHECK(worst_error<workloads::Product>() < 1e-12);
  CHECK(worst_error<workloads::Mlp>() < 1e-12);
  CHECK(worst_error<workloads::Rosenbrock>() < 1e-12);
  CHECK(worst_error<workloads::LogSumExp>() < 1e-12);
  CHECK(worst_error<workloads::Attention>() < 1e-12);
}

TEST_CASE("a chain of three million operations takes at most 22 bytes each, and a new tape begins anew") {
  const workloads::Chain chain{1'000'000};
  double first = 0;
  for (int turn = 0; turn < 3; ++turn) {
    Tape tape;
    const std::vector<Scalar> x = scalars({0.3, 0.9, 0.2});
    const Scalar y = chain(x.data());
    tape.backward(y);
    CHECK(scalar_bytes(tape) <= 22 * 3'000'000);
    CHECK(x[2].grad() > 0);
    if (turn == 0) first = x[2].grad();
    CHECK(x[2].grad() == first);
  }
}

TEST_CASE("a Scalar summed a million times, and a running total of a million, each get all that comes") {
  Tape tape;
  const std::vector<Scalar> x = scalars({1});
  Scalar total = 0;
  for (int i = 0; i < 1'000'000; ++i) total += x[0];
  const Scalar all = sum(std::vector<Scalar>(1000, total));
  tape.backward(all);
  CHECK(x[0].grad() == 1e9);
}
