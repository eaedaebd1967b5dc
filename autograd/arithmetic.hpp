#pragma once

// The arithmetic of one number: how an op says what it computed, term by term. Worked is a number type like
// Lane or Dual, so a formula says it by being run once more.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "autograd/tape.hpp"

namespace pencil {

enum class WorkedKind : std::uint8_t {
  number,      // a number of the formula: 1, 0.5
  input,       // an element of an input of the step
  negative,    // −a
  sum,         // a + b + …, any number of operands; 0 of none
  difference,  // a − b
  product,     // a · b
  quotient,    // a / b
  call,        // function(a, …): exp, log, pow, max …
  choice       // a, because a comparison of b with c came out so
};

/// One term of worked arithmetic.
struct WorkedTerm {
  WorkedKind kind = WorkedKind::number;
  /// Of a choice: whether the comparison held.
  bool held = false;
  /// Which input of the step, of an input.
  std::int32_t input = -1;
  /// Which of its numbers, row-major.
  std::int64_t element = 0;
  /// What it comes to in double precision.
  double value = 0;
  /// The name of a call, or the sign of a choice's comparison.
  std::string_view function = {};
  /// Its operands: where they stand in the sheet's list of operands, and how many.
  std::int32_t first = 0, operands = 0;
};

/// A number that remembers the arithmetic it came from: a plain number, or a term of a Worksheet. Cheap to
/// copy. Arithmetic on plain numbers gives plain numbers, and a plain 0 or 1 leaves no trace where it changes
/// nothing (x + 0, 1 · x, 0 · x).
class Worked {
 public:
  template <class N>
  requires std::is_arithmetic_v<N> Worked(N number) : value_(static_cast<double>(number)) {}  // NOLINT
  Worked() : Worked(0) {}

  double value() const { return value_; }
  /// Its term in the sheet, or −1 for a plain number.
  int term() const { return term_; }
  bool plain() const { return term_ < 0; }

  friend Worked operator+(const Worked& a) { return a; }
  friend Worked operator-(const Worked& a);
  friend Worked operator+(const Worked& a, const Worked& b);
  friend Worked operator-(const Worked& a, const Worked& b);
  friend Worked operator*(const Worked& a, const Worked& b);
  friend Worked operator/(const Worked& a, const Worked& b);
  Worked& operator+=(const Worked& b) { return *this = *this + b; }
  Worked& operator-=(const Worked& b) { return *this = *this - b; }
  Worked& operator*=(const Worked& b) { return *this = *this * b; }
  Worked& operator/=(const Worked& b) { return *this = *this / b; }

  friend Worked exp(const Worked& x);
  friend Worked expm1(const Worked& x);
  friend Worked log(const Worked& x);
  friend Worked log1p(const Worked& x);
  friend Worked sqrt(const Worked& x);
  friend Worked rsqrt(const Worked& x);
  friend Worked sin(const Worked& x);
  friend Worked cos(const Worked& x);
  friend Worked tanh(const Worked& x);
  friend Worked erf(const Worked& x);
  friend Worked abs(const Worked& x);
  friend Worked pow(const Worked& a, const Worked& b);
  /// NaN if either is NaN.
  friend Worked max(const Worked& a, const Worked& b);
  friend Worked min(const Worked& a, const Worked& b);
  friend Worked constant(const Worked& x) { return x; }

 private:
  friend class Worksheet;
  friend Worked select(const struct Condition&, const Worked&, const Worked&);
  /// A term of the sheet that the operands are of; a plain number if all of them are.
  static Worked combined(const WorkedTerm& term, std::initializer_list<Worked> operands);
  static Worked called(std::string_view function, double value, std::initializer_list<Worked> operands) {
    return combined({.kind = WorkedKind::call, .value = value, .function = function}, operands);
  }
  Worked(Worksheet* sheet, int term, double value) : value_(value), sheet_(sheet), term_(term) {}

  double value_;
  Worksheet* sheet_ = nullptr;
  int term_ = -1;
};

/// How a comparison came out. It has no bool: write select(condition, a, b).
struct Condition {
  Worked left, right;
  std::string_view sign;
  bool holds;

  /// Of two, the one that settles the matter.
  friend Condition operator&&(const Condition& a, const Condition& b) { return a.holds ? b : a; }
  friend Condition operator||(const Condition& a, const Condition& b) { return a.holds ? a : b; }
  friend Condition operator!(Condition a) {
    a.holds = !a.holds;
    return a;
  }
};

inline Condition operator<(const Worked& a, const Worked& b) { return {a, b, "<", a.value() < b.value()}; }
inline Condition operator<=(const Worked& a, const Worked& b) { return {a, b, "<=", a.value() <= b.value()}; }
inline Condition operator>(const Worked& a, const Worked& b) { return {a, b, ">", a.value() > b.value()}; }
inline Condition operator>=(const Worked& a, const Worked& b) { return {a, b, ">=", a.value() >= b.value()}; }
inline Condition operator==(const Worked& a, const Worked& b) { return {a, b, "==", a.value() == b.value()}; }
inline Condition operator!=(const Worked& a, const Worked& b) { return {a, b, "!=", a.value() != b.value()}; }

/// a where the condition holds, else b. The branch not taken leaves no trace.
Worked select(const Condition& condition, const Worked& a, const Worked& b);

namespace detail {
/// A function of worked arithmetic by its name ("exp", "pow", "max" …) for numbers; NaN for a name unknown.
double called(std::string_view function, std::span<const double> x);
}  // namespace detail

/// The arithmetic of one element of a step's output, as its op's `explain` writes it: terms, each after its
/// operands, of which some stand on lines of their own. Lives while the tape does.
class Worksheet {
 public:
  /// A term that is written out on a line of its own and then stands for its value.
  struct Line {
    std::string_view role;  // what it is called, by role or textbook term: "scores", "total"; may be empty
    int term;
  };

  explicit Worksheet(const Step& step) : step_(step) {}
  Worksheet(const Worksheet&) = delete;
  Worksheet& operator=(const Worksheet&) = delete;

  const Step& step() const { return step_; }

  /// A number of an input, by its row-major place. Throws Error where the input was freed or overwritten
  /// (Step::input).
  Worked input(int i, std::int64_t element);
  /// The number of input i that broadcasting pairs with an element of the output.
  Worked broadcast_input(int i, std::int64_t element) { return input(i, broadcast_place(i, element)); }
  std::int64_t broadcast_place(int i, std::int64_t element) const;
  /// A Scalar that the statements of a step read, by its place among them.
  Worked scalar(std::uint32_t place, double value) {
    return add({.kind = WorkedKind::input, .element = place, .value = value}, {});
  }
  /// A number of an input that takes no part in the arithmetic but says which numbers do: of a mask, an id.
  double read(int i, std::int64_t element) const;
  /// A number that is no input but a finding of the op's own, shown as it stands: a mean kept from forward.
  Worked number(double value);
  /// The sum of any number of terms, as one term.
  Worked sum(std::span<const Worked> terms);
  /// A function of any number of terms that comes to `value`: the largest of them, "max", the smallest,
  /// "min", the place of the largest, "argmax", counted from 0, a number without its fraction, "trunc". A
  /// string literal.
  Worked call(std::string_view function, double value, std::span<const Worked> operands);
  /// Writes a term on a line of its own, under a role; returns it. A string literal.
  Worked line(std::string_view role, const Worked& x);
  /// A remark that stands below the arithmetic: "computed as e^(x − 4)".
  void note(std::string text) { notes_.push_back(std::move(text)); }

  const std::vector<WorkedTerm>& terms() const { return terms_; }
  std::span<const std::int32_t> operands(const WorkedTerm& term) const {
    return std::span(operands_).subspan(static_cast<std::size_t>(term.first),
                                        static_cast<std::size_t>(term.operands));
  }
  /// In the order written, each line after those it uses.
  const std::vector<Line>& lines() const { return lines_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  friend class Worked;
  /// A new term over operands of this sheet or plain numbers.
  Worked add(WorkedTerm term, std::span<const Worked> operands);
  std::int32_t term_of(const Worked& x);

  Step step_;
  std::vector<WorkedTerm> terms_;
  std::vector<std::int32_t> operands_;
  std::vector<Line> lines_;
  std::vector<std::string> notes_;
};

}  // namespace pencil
