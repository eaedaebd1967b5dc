#include "autograd/inspect/slopes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "autograd/create.hpp"
#include "autograd/inspect/replay.hpp"
#include "autograd/ops/support.hpp"

namespace pencil::inspect {

namespace {

using Reason = Verification::Reason;

bool all_finite(const Tensor& x) {
  if (!is_float(x.dtype())) return true;
  const auto numbers = x.values<double>();
  return std::ranges::all_of(numbers, [](double v) { return std::isfinite(v); });
}

class Check {
 public:
  Check(const Step& step, const VerifyOptions& options)
      : step_(step), options_(options), rng_(mix(options.seed) ^ static_cast<std::uint64_t>(step.number())) {}

  Slopes run() {
    if (prepare())
      for (int i = 0; i < step_.inputs() && slopes_.fault.empty(); ++i)
        if (differentiable(step_, i)) try_input(i);
    return std::move(slopes_);
  }

 private:
  // The op in f64 on a tape of its own: output and gradients under a random upstream one. False where it
  // cannot be had.
  bool prepare() {
    Needs needs;
    bool any = false;
    for (int i = 0; i < step_.inputs(); ++i) {
      inputs_.push_back(widened(step_.input(i)));
      if (!all_finite(inputs_.back())) return could_not(Reason::not_finite, fmt::format("input {}", i));
      if (!differentiable(step_, i)) continue;
      needs.set(static_cast<std::size_t>(i));
      any = true;
    }
    if (!any) return could_not(Reason::no_derivative, "no input can take a gradient");
    const Tape tape;
    try {
      output_ = apply(step_.op(), inputs_, step_.attributes(), Where{});
    } catch (const std::exception& error) {
      return could_not(Reason::not_f64, error.what());
    }
    if (output_.dtype() != f64)
      return could_not(Reason::not_f64, fmt::format("its output is {}", name_of(output_.dtype())));
    draw_upstream();
    try {
      gradients_ = rule_again(tape.step(tape.step_of(output_)), upstream_, needs);
    } catch (const std::exception& error) {
      return could_not(Reason::refused, error.what());
    }
    return true;
  }

  bool could_not(Reason reason, std::string text) {
    slopes_.could_not.emplace_back(reason, std::move(text));
    return false;
  }

  // 0 where the output is not finite: no difference can be taken there.
  void draw_upstream() {
    upstream_ = empty(output_.shape(), f64);
    const auto y = output_.values<double>();
    const auto u = upstream_.writable<double>();
    double squares = 0;
    for (std::size_t i = 0; i < u.size(); ++i) {
      u[i] = std::isfinite(y[i]) ? rng_.normal() : 0;
      if (u[i] != 0) squares += u[i] * u[i] * y[i] * y[i];
    }
    // What rounding in f64 may put into Σ u y: some last places of each product.
    rounding_ = 16 * 0x1p-52 * std::sqrt(squares);
  }

  void try_input(int i) {
    const std::int64_t size = inputs_[static_cast<std::size_t>(i)].size();
    if (size == 0) return;
    std::vector<double> direction(static_cast<std::size_t>(size));
    const auto x = inputs_[static_cast<std::size_t>(i)].values<double>();
    const auto unit = [&](std::size_t k) { return std::max(1.0, std::abs(x[k])); };
    if (size > 1) {
      for (std::size_t k = 0; k < direction.size(); ++k) direction[k] = rng_.normal() * unit(k);
      try_direction(i, direction, "along a random direction");
      std::ranges::fill(direction, 0);
    }
    if (size > options_.most) return;
    for (std::int64_t n = 0; n < std::min<std::int64_t>(options_.positions, size); ++n) {
      const std::int64_t flat = size <= options_.positions
                                    ? n
                                    : static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(size)));
      const auto k = static_cast<std::size_t>(flat);
      direction[k] = unit(k);
      try_direction(i, direction, "at " + index_text(inputs_[static_cast<std::size_t>(i)].shape(), flat));
      direction[k] = 0;
    }
  }

  void try_direction(int i, std::span<const double> direction, const std::string& where) {
    if (!slopes_.fault.empty()) return;
    // The rule's slope, and how large a slope of this input could have been: of the terms that add up to it,
    // or of the largest gradient where only one number moves.
    double analytic = 0, squares = 0, largest = 0, reach = 0;
    if (const Tensor& gradient = gradients_[static_cast<std::size_t>(i)]; gradient.defined()) {
      const auto g = gradient.values<double>();
      for (std::size_t k = 0; k < g.size(); ++k) {
        largest = std::max(largest, std::abs(g[k]));
        if (direction[k] == 0) continue;
        reach = std::max(reach, std::abs(direction[k]));
        analytic += g[k] * direction[k];
        squares += g[k] * g[k] * direction[k] * direction[k];
      }
    }
    const double scale = std::max(std::sqrt(squares), largest * std::min(reach, 1.0));
    std::optional<std::array<double, 2>> sides;
    double allowed = 0;
    try {
      for (const double h : {1e-5, 1e-7}) {  // the smaller one where the function bends soon
        const auto found = slopes_at(i, direction, h);
        if (!found) continue;
        sides = found;
        allowed = options_.relative * scale + rounding_ / h;
        const double central = ((*sides)[0] + (*sides)[1]) / 2;
        if (std::abs(analytic - central) > allowed) continue;
        if (rounding_ / h > 1e-4 * scale && scale > 0)
          could_not(Reason::coarse, fmt::format("input {} {}", i, where));
        else
          ++slopes_.agreed;
        return;
      }
    } catch (const std::exception& error) {
      could_not(Reason::refused, error.what());
      return;
    }
    const std::string place = fmt::format("input {} {}", i, where);
    if (!sides) {
      could_not(Reason::not_finite, place);
      return;
    }
    const auto [low, high] = std::minmax((*sides)[0], (*sides)[1]);
    const double apart = high - low;
    if (apart > 10 * allowed && analytic >= low - apart / 10 && analytic <= high + apart / 10) {
      could_not(
          Reason::kink,
          fmt::format("{}: the slope is {:.6g} to the left and {:.6g} to the right; the rule says {:.6g}",
                      place, (*sides)[0], (*sides)[1], analytic));
      return;
    }
    slopes_.fault =
        fmt::format("{}: the rule gives {:.8g}, central differences {:.8g}; they may differ by {:.2g}", place,
                    analytic, (low + high) / 2, allowed);
  }

  // Σ u (f(x) − f(x − h d)) / h and Σ u (f(x + h d) − f(x)) / h; nothing where the function leaves the
  // finite.
  std::optional<std::array<double, 2>> slopes_at(int i, std::span<const double> direction, double h) const {
    std::array<double, 2> sides{};
    for (const int side : {0, 1}) {
      std::vector<Tensor> inputs = inputs_;
      const auto slot = static_cast<std::size_t>(i);
      inputs[slot] = detail::moved(inputs_[slot], direction, side == 0 ? -h : h);
      const Tensor there = forward_again(step_, inputs).output;
      const auto u = upstream_.values<double>(), y = output_.values<double>(), z = there.values<double>();
      double total = 0;
      for (std::size_t k = 0; k < u.size(); ++k)
        if (u[k] != 0) total += u[k] * (side == 0 ? y[k] - z[k] : z[k] - y[k]);
      sides[static_cast<std::size_t>(side)] = total / h;
    }
    if (!std::isfinite(sides[0]) || !std::isfinite(sides[1])) return std::nullopt;
    return sides;
  }

  const Step& step_;
  const VerifyOptions& options_;
  Rng rng_;
  std::vector<Tensor> inputs_;
  Tensor output_, upstream_;
  double rounding_ = 0;
  Gradients gradients_;
  Slopes slopes_;
};

}  // namespace

Slopes check_slopes(const Step& step, const VerifyOptions& options) { return Check(step, options).run(); }

}  // namespace pencil::inspect
