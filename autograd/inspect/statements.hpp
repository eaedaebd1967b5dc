#pragma once

// The scalar statements of a tape, as text.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "autograd/inspect/memory.hpp"
#include "autograd/scalar_body.hpp"
#include "autograd/tape.hpp"

namespace pencil {

/// The Scalars of a tape in the order they were recorded, leaves and statements: a view, valid until more is
/// recorded. Constants that statements met stand in them as numbers.
class ScalarStatements {
 public:
  explicit ScalarStatements(const Tape& tape);

  const Tape& tape() const { return *tape_; }
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
  /// What a statement calls a Scalar at a place: its label, or the number that a constant is.
  std::string operand(std::uint32_t place) const;
  /// The bytes that the Scalars of a step take.
  StepBytes bytes(const Step& step) const;
  /// The number of the Scalar at a place, and the place of one; none for a constant that a statement met.
  std::optional<std::size_t> at(std::uint32_t place) const;
  std::uint32_t place(std::size_t i) const { return places_[i]; }
  /// The Scalar that a number of a step's output is; none for a constant.
  std::optional<std::size_t> stacked_at(const Step& step, std::int64_t element) const;
  /// The Scalars that a step of them took from a number of an earlier one.
  std::vector<std::size_t> taken(const Step& step, int from, std::int64_t element) const;
  /// The number of a Scalar of this tape; −1 for any other.
  std::int64_t find(const Scalar& x) const;
  /// The statement behind it; nothing for leaves.
  std::optional<detail::RecordView> record(std::size_t i) const;
  /// The step that stands for it.
  int step(std::size_t i) const;
  /// The gradients that the Scalars of a step brought in `backward` to the steps they were taken from.
  std::vector<std::pair<int, Tensor>> given(const Step& step) const;

 private:
  std::size_t index_of(std::uint32_t place) const;

  const Tape* tape_;
  const detail::TapeBody* body_;
  const detail::Statements* statements_;
  std::vector<std::uint32_t> places_;
};

/// How much memory the Scalars of a tape take, gradients included.
std::int64_t scalar_bytes(const Tape& tape);

}  // namespace pencil
