// Small ops of the tests' own, so that a tape can be made without the library's.
#pragma once

#include <cmath>

#include "autograd/autograd.hpp"

namespace pencil::tests {

inline Tensor map(const Tensor& x, double (*f)(double)) {
  Tensor y = empty(x.shape(), x.dtype());
  dispatch_float(x.dtype(), [&]<class T>(T) {
    const auto out = y.writable<T>();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = static_cast<T>(f(static_cast<double>(x.values<T>()[i])));
  });
  return y;
}

inline Tensor product(const Tensor& a, const Tensor& b) {
  Tensor y = empty(a.shape(), a.dtype());
  dispatch_float(a.dtype(), [&]<class T>(T) {
    const auto out = y.writable<T>();
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = a.values<T>()[i] * b.values<T>()[b.size() == 1 ? 0 : i];
  });
  return y;
}

// y = a b        da = dy b, db = dy a        (one shape)
inline Tensor times(const Located& a, const Located& b) {
  static const Op op{"times",
                     {.forward = [](Inputs in, const Attributes&) { return Computed(product(in[0], in[1])); },
                      .rule =
                          [](const Step& s, const Tensor& dy, Needs) {
                            return Gradients{times(dy, s.input(1)), times(dy, s.input(0))};
                          }}};
  return apply(op, {a, b});
}

// y = 2 x        dx = 2 dy
inline Tensor twice(const Located& x) {
  static const Op op{
      "twice",
      {.forward = [](Inputs in,
                     const Attributes&) { return Computed(map(in[0], [](double v) { return 2 * v; })); },
       .rule = [](const Step&, const Tensor& dy, Needs) { return Gradients{twice(dy)}; }}};
  return apply(op, {x});
}

// A mark: nothing flows back.
inline Tensor rounded(const Located& x) {
  static const Op op{"rounded", {.forward = [](Inputs in, const Attributes&) {
                       return Computed(map(in[0], [](double v) { return std::trunc(v); }));
                     }}};
  return apply(op, {x},
               {{"to", std::int64_t{1}}, {"axes", std::vector<std::int64_t>{0, 1}}, {"exact", true}});
}

// A model in miniature, for pictures: "cell" is called twice, with "mix" inside, and something between.
//
//   0 sheet (constant)   1 w (parameter)   2 cell.mix: times(sheet, w)   3 cell: twice   4 between: twice
//   5 cell.mix: times(4, w)   6 cell: twice   7 loss = times(6, 3)
struct Cells {
  Tensor sheet = named(tensor({{1, 2}, {0.333, 4}}), "sheet");
  Tensor w = parameter(tensor({{1, 2}, {3, 4.5}}), "cell.mix.weight");
  Tape tape;
  Tensor first, between, second, loss;

  Cells() {
    first = cell(sheet);
    between = twice(first);
    second = cell(between);
    loss = named(times(second, first), "loss");
  }
  Tensor cell(const Tensor& x) const {
    const Scope outer("cell");
    Tensor y;
    {
      const Scope inner("mix");
      const Role role("query");
      y = times(x, w);
    }
    return twice(y);
  }
};

}  // namespace pencil::tests
