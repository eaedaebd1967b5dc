// How long a gradient by Scalars takes, in units of the plain function: the tape made, leaves made, the
// function recorded, swept, and every gradient read, each turn anew. Beside it the gradient written by hand,
// the floor. The three are timed in turn, by the processor time they take, so that what else the machine does
// falls on all of them alike. Ratios are of medians, and, less disturbed where a machine is busy, of the
// least times.
//
//   bench_scalar                the five functions, the memory of a long chain, and the end of a tape
//   bench_scalar 100000000      the long chain with so many operations

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "autograd/autograd.hpp"
#include "tests/bench/scalar_workloads.hpp"

using namespace pencil;

namespace {

double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

template <class F>
double time_of(const F& f, int turns) {
  const double begin = seconds();
  for (int i = 0; i < turns; ++i) {
    f();
    asm volatile("" ::: "memory");
  }
  return (seconds() - begin) / turns;
}

double median(std::vector<double> all) {
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  return all[all.size() / 2];
}

template <class W>
void by_scalars(const W& w, double* gradient) {
  Tape tape;
  const std::vector<Scalar> x = scalars(w.start);
  const Scalar y = w(x.data());
  tape.backward(y);
  for (std::size_t i = 0; i < x.size(); ++i) gradient[i] = x[i].grad();
}

template <class W>
bool measure(double bound) {
  const W w;
  std::vector<double> found(w.start.size()), right(w.start.size());
  by_scalars(w, found.data());
  w.gradient(w.start.data(), right.data());
  double worst = 0;
  for (std::size_t i = 0; i < right.size(); ++i)
    worst = std::max(worst, std::abs(found[i] - right[i]) / std::max(1.0, std::abs(right[i])));

  double value = 0;
  const auto plain = [&] {
    const double* x = w.start.data();
    asm volatile("" : "+r"(x)::"memory");
    value = w(x);
    asm volatile("" ::"m"(value));
  };
  const auto scalar = [&] { by_scalars(w, found.data()); };
  const auto hand = [&] { w.gradient(w.start.data(), right.data()); };
  const auto turns_of = [](const auto& f) {
    return std::max(1, static_cast<int>(500e-6 / (time_of(f, 50) + 1e-9)));
  };
  const int turns[] = {turns_of(plain), turns_of(scalar), turns_of(hand)};
  std::vector<double> times[3];
  for (int i = 0; i < 200; ++i) {
    times[0].push_back(time_of(plain, turns[0]));
    times[1].push_back(time_of(scalar, turns[1]));
    times[2].push_back(time_of(hand, turns[2]));
  }
  const double unit = median(times[0]), ratio = median(times[1]) / unit, floor = median(times[2]) / unit;
  const double least = std::ranges::min(times[1]) / std::ranges::min(times[0]);
  fmt::print("{:12} {:10.2f} {:10.2f} {:9.2f} {:9.2f} {:9.2f} {:8.1f} {:10.1e}\n", W::name, 1e6 * unit,
             1e6 * unit * ratio, ratio, least, floor, bound, worst);
  return worst <= 1e-10;
}

void chain(std::size_t operations) {
  const workloads::Chain w{operations / 3};
  const std::vector<double> start{0.3, 0.9, 0.2};
  Tape tape;
  const std::vector<Scalar> x = scalars(start);
  const double begin = seconds();
  const Scalar y = w(x.data());
  const double recorded = seconds();
  tape.backward(y);
  const double swept = seconds();
  const double count = 3 * static_cast<double>(w.turns);
  fmt::print(
      "{} operations: {:.2f} bytes each, recorded in {:.2f} ns each, swept in {:.2f} ns each; gradient "
      "{:.6g}\n",
      3 * w.turns, static_cast<double>(scalar_bytes(tape)) / count, 1e9 * (recorded - begin) / count,
      1e9 * (swept - recorded) / count, x[2].grad());
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) {
    chain(std::strtoull(arguments[1], nullptr, 10));
    return 0;
  }
  fmt::print("{:12} {:>10} {:>10} {:>9} {:>9} {:>9} {:>8} {:>10}\n", "", "plain µs", "scalar µs", "ratio",
             "least", "by hand", "bound", "error");
  bool right = measure<workloads::Product>(7.5);
  right &= measure<workloads::Mlp>(6.1);
  right &= measure<workloads::Rosenbrock>(27.7);
  right &= measure<workloads::LogSumExp>(2.6);
  right &= measure<workloads::Attention>(13.7);
  chain(9'999'999);
  if (!right) fmt::print("a gradient is off by more than 1e-10\n");
  return right ? 0 : 1;
}
