#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/create.hpp"
#include "autograd/tape.hpp"

namespace pencil::tests {

inline Tensor vector_of(const std::vector<double>& numbers, DType dtype = f64) {
  Tensor out = empty({static_cast<std::int64_t>(numbers.size())}, dtype);
  dispatch_float(dtype, [&]<class T>(T) {
    const auto values = out.writable<T>();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(numbers[i]);
  });
  return out;
}

inline Tensor parameter_of(const std::vector<double>& numbers, const std::string& name = "w",
                           DType dtype = f64) {
  return parameter(vector_of(numbers, dtype), name);
}

/// Gives a parameter this gradient and no other.
inline void give(const Tensor& w, const std::vector<double>& gradient) {
  w.clear_grad();
  w.add_grad(with_shape(vector_of(gradient, w.dtype()), w.shape()));
}

/// y = mean over the rows t of target of ½ |w − t|²        dw = dy (w − mean t)
inline Tensor distance_to(const Tensor& w, const Tensor& target) {
  static const Op op{"distance",
                     {.forward =
                          [](Inputs in, const Attributes&) {
                            const auto w0 = in[0].values<double>(), t = in[1].values<double>();
                            double sum = 0;
                            for (std::size_t i = 0; i < t.size(); ++i)
                              sum += (w0[i % w0.size()] - t[i]) * (w0[i % w0.size()] - t[i]) / 2;
                            return full({}, sum / static_cast<double>(in[1].size(0)), f64);
                          },
                      .rule =
                          [](const Step& s, const Tensor& dy, Needs) {
                            const auto w0 = s.input(0).values<double>(), t = s.input(1).values<double>();
                            const double scale = dy.item() / static_cast<double>(s.input(1).size(0));
                            std::vector<double> dw(w0.size());
                            for (std::size_t i = 0; i < t.size(); ++i)
                              dw[i % w0.size()] += scale * (w0[i % w0.size()] - t[i]);
                            return Gradients{vector_of(dw), Tensor()};
                          },
                      .constant = 2}};
  return apply(op, {w, target});
}

}  // namespace pencil::tests
