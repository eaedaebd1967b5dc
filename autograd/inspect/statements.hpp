#pragma once

// The scalar statements of a tape, as text.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "autograd/tape.hpp"

namespace pencil {

namespace detail {
struct Statements;
}

/// The Scalars of a tape in the order they were recorded, leaves and statements: a view, valid until more is
/// recorded. Constants that statements met stand in them as numbers.
class ScalarStatements {
 public:
  explicit ScalarStatements(const Tape& tape);

  std::size_t size() const { return places_.size(); }
  /// Those that a step of kind `scalars` stands for: [first, last).
  struct Range {
    std::size_t first = 0, last = 0;
  };
  Range of(const Step& step) const;

  double value(std::size_t i) const;
  double gradient(std::size_t i) const;
  /// Whether `backward` has brought it a gradient, be it 0.
  bool reached(std::size_t i) const;
  /// Its name, or s and its number: "z", "x[2]", "s7".
  std::string label(std::size_t i) const;
  /// The arithmetic it comes from: "a*b + exp(c)"; "#3[0]" for a number of the tensor of step 3; nothing for
  /// other leaves.
  std::string formula(std::size_t i) const;
  /// "z = a*b + exp(c) = 4.718".
  std::string text(std::size_t i) const;
  /// How the output of a step that stacks Scalars is made: "stack(a, z)"; nothing for other steps.
  std::string stacked(const Step& step) const;
  /// The gradients that the Scalars of a step brought in `backward` to the steps they were taken from.
  std::vector<std::pair<int, Tensor>> given(const Step& step) const;

 private:
  std::string operand(std::uint32_t place) const;

  const detail::TapeBody* body_;
  const detail::Statements* statements_;
  std::vector<std::uint32_t> places_;
};

/// How much memory the Scalars of a tape take, gradients included.
std::int64_t scalar_bytes(const Tape& tape);

}  // namespace pencil
