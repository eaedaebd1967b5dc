#include "autograd/ops/gradcheck.hpp"

#include <algorithm>
#include <cmath>

#include "autograd/create.hpp"
#include "autograd/ops/shape_ops.hpp"
#include "autograd/ops/support.hpp"
#include "autograd/tape.hpp"

namespace pencil {

namespace {

using Function = std::function<Tensor(Inputs)>;

// The same on the tape: a function may give back an input as it is, or a tensor that depends on none.
Tensor recorded(const Tensor& y) { return reshape(y, y.shape()); }

// One function at one point, under one upstream gradient.
class Check {
 public:
  Check(const std::string& word, const Function& f, Inputs inputs, std::vector<bool> variable,
        const GradcheckOptions& options)
      : word_(word), f_(f), variable_(std::move(variable)), options_(options) {
    for (const Tensor& x : inputs) inputs_.push_back(with_shape(x, x.shape()));  // one handle an argument
    Rng rng(options.seed);
    Tape tape;
    const Tensor y = recorded(value(inputs_));
    upstream_ = randn(y.shape(), rng, f64);
    std::vector<Tensor> on_tape;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (variable_[i] && tape.step_of(inputs_[i]) >= 0) on_tape.push_back(inputs_[i]);
    const std::vector<Tensor> found = tape.gradient(y, on_tape, {.upstream = upstream_});
    for (std::size_t i = 0, next = 0; i < inputs_.size(); ++i) {
      const bool used = variable_[i] && tape.step_of(inputs_[i]) >= 0;
      gradients_.push_back(used ? found[next++] : zeros(inputs_[i].shape(), f64));
    }
  }

  void run(GradcheckReport& report) const {
    constexpr std::int64_t few = 256;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!variable_[i]) continue;
      report.numbers += inputs_[i].size();
      if (inputs_[i].size() <= few || !direction_agrees(i)) check_elements(i, report);
    }
  }

 private:
  Tensor value(Inputs inputs) const {
    const Tensor y = f_(inputs);
    if (y.dtype() != f64)
      fail("[gradcheck] {} gives {} of shape {}; central differences need f64", word_, name_of(y.dtype()),
           y.shape());
    return y;
  }

  // Σ upstream · (f(x + above d) − f(x + below d)) / (above − below) with x argument i.
  double slope(std::size_t i, std::span<const double> direction, double below, double above) const {
    const auto at = [&](double factor) {
      std::vector<Tensor> inputs = inputs_;
      inputs[i] = detail::moved(inputs_[i], direction, factor);
      const Tape tape;  // a function may ask it for gradients; and the tapes outside see nothing of this
      return value(inputs);
    };
    const Tensor high = at(above), low = at(below);
    const auto up = high.values<double>(), down = low.values<double>(), weight = upstream_.values<double>();
    double total = 0;
    for (std::size_t k = 0; k < up.size(); ++k) total += weight[k] * (up[k] - down[k]);
    return total / (above - below);
  }

  bool direction_agrees(std::size_t i) const {
    Rng rng(options_.seed + 1 + i);
    const auto gradient = gradients_[i].values<double>();
    std::vector<double> direction(gradient.size());
    double analytic = 0, scale = 0;
    for (std::size_t k = 0; k < gradient.size(); ++k) {
      direction[k] = rng.normal();
      analytic += gradient[k] * direction[k];
      scale = std::max(scale, std::abs(gradient[k]));
    }
    const double numeric = slope(i, direction, -options_.step, options_.step);
    return std::abs(analytic - numeric) <= options_.absolute + options_.relative * scale;
  }

  void check_elements(std::size_t i, GradcheckReport& report) const {
    const auto x = inputs_[i].values<double>();
    const auto analytic = gradients_[i].values<double>();
    std::vector<double> direction(x.size()), numeric(x.size());
    const auto step = [&](std::size_t k) { return options_.step * std::max(1.0, std::abs(x[k])); };
    double largest = 0;
    for (std::size_t k = 0; k < x.size(); ++k) {
      direction[k] = 1;
      numeric[k] = slope(i, direction, -step(k), step(k));
      direction[k] = 0;
      if (std::isfinite(numeric[k])) largest = std::max(largest, std::abs(numeric[k]));
    }
    const double allowed = options_.absolute + options_.relative * largest;
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (std::abs(analytic[k] - numeric[k]) <= allowed) continue;
      direction[k] = 1;
      if (!excused(i, k, direction, step(k), analytic[k], allowed, report))
        fail(
            "[gradcheck] {}: the analytic gradient is {:.8g}, the numeric one {:.8g} with step {:.2g}; they "
            "may "
            "differ by {:.2g}",
            name_of_number(i, k), analytic[k], numeric[k], step(k), allowed);
      direction[k] = 0;
    }
  }

  // Whether a disagreement is none of the gradient's: because the function bends or jumps within the step,
  // which is reported, or because it is curved so much that a smaller step agrees.
  bool excused(std::size_t i, std::size_t k, std::span<const double> direction, double h, double analytic,
               double allowed, GradcheckReport& report) const {
    constexpr double finer = 64;
    const double left = slope(i, direction, -h, 0), right = slope(i, direction, 0, h);
    const double near_left = slope(i, direction, -h / finer, 0),
                 near_right = slope(i, direction, 0, h / finer);
    const double gap = std::abs(right - left), near_gap = std::abs(near_right - near_left);
    if (std::isnan(analytic) || !std::isfinite(gap) || !std::isfinite(near_gap)) return false;
    const bool bends =
        near_gap > allowed && near_gap > gap / 2;  // the gap of what is smooth shrinks with the step
    const bool agrees = std::abs(analytic - (near_left + near_right) / 2) <= allowed;
    if (!bends && !agrees) return false;
    const bool bends_nearby = agrees && gap > allowed && near_gap < gap / (2 * finer);
    if (bends || bends_nearby) report.kinks.push_back({name_of_number(i, k), analytic, left, right, h});
    return true;
  }

  // "relu, argument 0 of shape (3), element [1]"
  std::string name_of_number(std::size_t i, std::size_t k) const {
    const std::string name = i < options_.names.size() ? options_.names[i] : fmt::format("argument {}", i);
    return fmt::format("{}, {} of shape {}, element {}", word_, name, inputs_[i].shape(),
                       index_text(inputs_[i].shape(), static_cast<std::int64_t>(k)));
  }

  const std::string& word_;
  const Function& f_;
  std::vector<Tensor> inputs_;
  std::vector<bool> variable_;
  const GradcheckOptions& options_;
  Tensor upstream_;
  std::vector<Tensor> gradients_;
};

// The gradients of f under an upstream gradient, its last input, as one long vector.
Function gradient_of(const Function& f, const std::vector<bool>& variable) {
  return [&f, variable](Inputs in) {
    Tape& tape = *Tape::current();
    const Tensor y = recorded(f(in.first(in.size() - 1)));
    std::vector<Tensor> xs;
    for (std::size_t i = 0; i < variable.size(); ++i)
      if (variable[i] && tape.step_of(in[i]) >= 0) xs.push_back(in[i]);
    std::vector<Tensor> flat{zeros({0}, f64)};
    for (const Tensor& gradient : tape.gradient(y, xs, {.upstream = in.back(), .record = true}))
      flat.push_back(reshape(gradient, {gradient.size()}));
    return concat(flat, 0);
  };
}

GradcheckReport check_all(const std::string& word, const Function& f, Inputs inputs,
                          const std::vector<bool>& variable, GradcheckOptions options) {
  GradcheckReport report;
  Check(word, f, inputs, variable, options).run(report);
  if (!options.second) return report;
  std::vector<Tensor> with_upstream(inputs.begin(), inputs.end());
  Rng rng(options.seed + 1000);
  {
    const Tape tape;
    with_upstream.push_back(randn(f(inputs).shape(), rng, f64));
  }
  std::vector<bool> all = variable;
  all.push_back(true);
  for (std::size_t i = options.names.size(); i < inputs.size(); ++i)
    options.names.push_back(fmt::format("argument {}", i));
  options.names.push_back("the upstream gradient");
  Check("the gradient of " + word, gradient_of(f, variable), with_upstream, all, options).run(report);
  return report;
}

std::vector<bool> differentiable(const std::string& word, Inputs inputs, const GradcheckOptions& options) {
  std::vector<bool> variable;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() == f32)
      fail(
          "[gradcheck] {}: {} of shape {} is f32; central differences need f64, for of the 7 digits of f32 a "
          "step "
          "of {:.2g} leaves 2: convert with .to(f64)",
          word, i < options.names.size() ? options.names[i] : fmt::format("argument {}", i),
          inputs[i].shape(), options.step);
    variable.push_back(inputs[i].dtype() == f64);
  }
  return variable;
}

}  // namespace

GradcheckReport gradcheck(const std::string& word, const Function& f, Inputs inputs,
                          const GradcheckOptions& options) {
  return check_all(word, f, inputs, differentiable(word, inputs, options), options);
}

GradcheckReport gradcheck(const Op& op, Inputs inputs, const GradcheckOptions& options) {
  std::vector<bool> variable = differentiable(op.word(), inputs, options);
  for (std::size_t i = 0; i < std::min<std::size_t>(variable.size(), 64); ++i)
    if (op.parts().constant[i]) variable[i] = false;
  const Function f = [&](Inputs in) { return apply(op, in, options.attributes, Where{}); };
  return check_all(op.word(), f, inputs, variable, options);
}

std::string to_string(const GradcheckReport& report) {
  std::string text = fmt::format("{} numbers, {}", report.numbers,
                                 report.kinks.empty() ? "all agree"
                                 : report.kinks.size() == 1
                                     ? "of which 1 stands at a kink"
                                     : fmt::format("of which {} stand at kinks", report.kinks.size()));
  for (const GradcheckReport::Kink& kink : report.kinks)
    text += fmt::format("\n  {}: {:.6g} on the left, {:.6g} on the right, the gradient is {:.6g}", kink.where,
                        kink.left, kink.right, kink.analytic);
  return text;
}

}  // namespace pencil
