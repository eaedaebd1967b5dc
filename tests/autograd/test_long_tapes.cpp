// Long tapes: no recursion over a graph, and nothing left behind.

#include <pthread.h>

#include "autograd/ops/elementwise.hpp"
#include "tests/autograd/support.hpp"

using namespace pencil;
using namespace pencil::tests;

namespace {

Tensor leaf(double value, const char* name = "") { return parameter(full({}, value, f64), name); }

// How many handles there are on a tensor.
std::uint32_t handles(const Tensor& x) { return detail::Body::of(x)->uses.load(); }

// y ← y + y · 1e-6, again and again: forward, backward and the end of the tape.
void long_chain(int rounds, Keep keep) {
  const Tensor x = leaf(1);
  {
    Tape tape{{.keep = keep}};
    Tensor y = x;
    for (int i = 0; i < rounds; ++i) y = y + y * 1e-6;
    REQUIRE(tape.size() == 2 * rounds + 1);
    tape.backward(y);
    CHECK(y.item() == Approx(std::pow(1 + 1e-6, rounds)).epsilon(1e-8));
    CHECK(x.grad().item() == Approx(y.item()).epsilon(1e-8));
  }
  CHECK(handles(x) == 1);
}

}  // namespace

TEST_CASE("a chain of a million steps is recorded, swept and freed") { long_chain(500'000, Keep::all); }

TEST_CASE("so is one on a thread with a stack of a megabyte") {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, 1 << 20) == 0);
  pthread_t thread;
  const auto run = [](void*) -> void* {
    long_chain(52'330, Keep::all);
    long_chain(52'330, Keep::leaves);
    return nullptr;
  };
  REQUIRE(pthread_create(&thread, &attributes, run, nullptr) == 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

TEST_CASE("a tape wide instead of long adds up a million gradients") {
  const Tensor x = leaf(1);
  Tape tape{{.keep = Keep::leaves}};
  Tensor total = x * 1;
  for (int i = 1; i < 300'000; ++i) total = total + x * 1;
  tape.backward(total);
  CHECK(x.grad().item() == 300'000);
}
