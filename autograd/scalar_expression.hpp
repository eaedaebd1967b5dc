#pragma once

// What arithmetic on Scalars builds before it becomes one statement of the tape. Nodes hold their operands by
// value, so `auto x = a * b;` may be kept and used later. A user needs autograd/scalar.hpp only.

#include <array>
#include <cmath>
#include <concepts>
#include <limits>
#include <type_traits>

#include "autograd/scalar_record.hpp"

#define PENCIL_INLINE [[gnu::always_inline]] inline

namespace pencil {

class Scalar;

/// What all expressions derive from; so their operators are found here.
struct ScalarExpressionBase {};

namespace detail {

template <class N>
concept Number = std::is_arithmetic_v<N>;

template <std::size_t... N>
constexpr auto joined(const std::array<Operation, N>&... parts) {
  std::array<Operation, (N + ...)> all{};
  std::size_t at = 0;
  const auto append = [&](const auto& part) {
    for (const Operation operation : part) all[at++] = operation;
  };
  (append(parts), ...);
  return all;
}

/// Where a statement's parts go while it is recorded. All of its members are constants to the compiler.
struct RecordWriter {
  double* slopes;
  double* numbers;
  std::uint32_t* sources;
  bool skip;  // the next slope: it is 1, and the header says so

  PENCIL_INLINE void operand(double slope, std::uint64_t tag) {
    if (skip)
      skip = false;
    else
      *slopes++ = slope;
    *sources++ = static_cast<std::uint32_t>(tag);
  }
};

/// A Scalar in an expression.
struct ScalarLeaf : ScalarExpressionBase {
  static constexpr std::uint32_t operands = 1, plain_numbers = 0;
  static constexpr bool unit = true;  // the leftmost operand is a summand
  static constexpr std::array<Operation, 1> code{Operation::leaf};

  double number;
  std::uint64_t tag;

  PENCIL_INLINE double value() const { return number; }
  /// All tags, or-ed: 0 if all operands are constants.
  PENCIL_INLINE std::uint64_t tags() const { return tag; }
  /// The upper half is 0 if all operands are of the tape that `next` is of.
  PENCIL_INLINE std::uint64_t strangers(std::uint64_t next) const { return tag ^ next; }
  PENCIL_INLINE void write(RecordWriter& to, double seed) const { to.operand(seed, tag); }
  template <class F>
  void each_leaf(const F& f) {
    f(*this);
  }
};

/// A plain number in an expression.
struct PlainNumber : ScalarExpressionBase {
  static constexpr std::uint32_t operands = 0, plain_numbers = 1;
  static constexpr bool unit = false;
  static constexpr std::array<Operation, 1> code{Operation::number};

  double number;

  PENCIL_INLINE double value() const { return number; }
  PENCIL_INLINE std::uint64_t tags() const { return 0; }
  PENCIL_INLINE std::uint64_t strangers(std::uint64_t) const { return 0; }
  PENCIL_INLINE void write(RecordWriter& to, double) const { *to.numbers++ = number; }
  template <class F>
  void each_leaf(const F&) {}
};

/// f(a). F has `value(a)` and `slope(seed, a, value)`: seed · f′(a).
template <class F, class A>
struct UnaryNode : ScalarExpressionBase {
  static constexpr std::uint32_t operands = A::operands, plain_numbers = A::plain_numbers;
  static constexpr bool unit = false;
  static constexpr auto code = joined(A::code, std::array{F::operation});

  A a;
  double number;

  PENCIL_INLINE explicit UnaryNode(const A& x) : a(x), number(F::value(a.value())) {}
  PENCIL_INLINE double value() const { return number; }
  PENCIL_INLINE std::uint64_t tags() const { return a.tags(); }
  PENCIL_INLINE std::uint64_t strangers(std::uint64_t next) const { return a.strangers(next); }
  PENCIL_INLINE void write(RecordWriter& to, double seed) const {
    a.write(to, F::slope(seed, a.value(), number));
  }
  template <class V>
  void each_leaf(const V& f) {
    a.each_leaf(f);
  }
};

/// f(a, b). F has `value(a, b)`, and `left` and `right(seed, a, b, value)`: seed · ∂f/∂a and seed · ∂f/∂b.
template <class F, class A, class B>
struct BinaryNode : ScalarExpressionBase {
  static constexpr std::uint32_t operands = A::operands + B::operands;
  static constexpr std::uint32_t plain_numbers = A::plain_numbers + B::plain_numbers;
  static constexpr bool unit = A::unit && F::unit;
  static constexpr auto code = joined(A::code, B::code, std::array{F::operation});

  A a;
  B b;
  double number;

  PENCIL_INLINE BinaryNode(const A& x, const B& y) : a(x), b(y), number(F::value(a.value(), b.value())) {}
  PENCIL_INLINE double value() const { return number; }
  PENCIL_INLINE std::uint64_t tags() const { return a.tags() | b.tags(); }
  PENCIL_INLINE std::uint64_t strangers(std::uint64_t next) const {
    // A number is on no tape and so a stranger to none.
    return a.strangers(next) | b.strangers(next);
  }
  PENCIL_INLINE void write(RecordWriter& to, double seed) const {
    a.write(to, F::left(seed, a.value(), b.value(), number));
    b.write(to, F::right(seed, a.value(), b.value(), number));
  }
  template <class V>
  void each_leaf(const V& f) {
    a.each_leaf(f);
    b.each_leaf(f);
  }
};

// y = a + b        da = dy        db = dy
struct Add {
  static constexpr Operation operation = Operation::add;
  static constexpr bool unit = true;
  PENCIL_INLINE static double value(double a, double b) { return a + b; }
  PENCIL_INLINE static double left(double dy, double, double, double) { return dy; }
  PENCIL_INLINE static double right(double dy, double, double, double) { return dy; }
};

// y = a − b        da = dy        db = −dy
struct Subtract {
  static constexpr Operation operation = Operation::subtract;
  static constexpr bool unit = true;
  PENCIL_INLINE static double value(double a, double b) { return a - b; }
  PENCIL_INLINE static double left(double dy, double, double, double) { return dy; }
  PENCIL_INLINE static double right(double dy, double, double, double) { return -dy; }
};

// y = a b        da = dy b        db = dy a
struct Multiply {
  static constexpr Operation operation = Operation::multiply;
  static constexpr bool unit = false;
  PENCIL_INLINE static double value(double a, double b) { return a * b; }
  PENCIL_INLINE static double left(double dy, double, double b, double) { return dy * b; }
  PENCIL_INLINE static double right(double dy, double a, double, double) { return dy * a; }
};

// y = a / b        da = dy / b        db = −dy y / b
struct Divide {
  static constexpr Operation operation = Operation::divide;
  static constexpr bool unit = false;
  PENCIL_INLINE static double value(double a, double b) { return a / b; }
  PENCIL_INLINE static double left(double dy, double, double b, double) { return dy / b; }
  PENCIL_INLINE static double right(double dy, double, double b, double y) { return -dy * y / b; }
};

// y = −a        da = −dy
struct Negate {
  static constexpr Operation operation = Operation::negate;
  PENCIL_INLINE static double value(double a) { return -a; }
  PENCIL_INLINE static double slope(double dy, double, double) { return -dy; }
};

/// The tag of a statement newly recorded.
template <class E>
PENCIL_INLINE std::uint64_t record(Recorder& to, const E& e);

template <class E>
struct Formula {
  static_assert(E::operands <= Header::most, "this statement is too long: at most 126 Scalars in one");
  static_assert(E::plain_numbers <= Header::most_numbers, "this statement is too long: 255 numbers at most");
  static inline const std::uint32_t number = register_formula(E::code) << 16;
  static constexpr std::uint32_t shape = E::operands | (E::unit ? Header::unit : 0) | E::plain_numbers << 8;
};

template <class E>
PENCIL_INLINE std::uint64_t record(Recorder& to, const E& e) {
  constexpr std::uint32_t slopes = E::operands - (E::unit ? 1 : 0), numbers = E::plain_numbers;
  constexpr std::uint32_t sources = words_of_sources(E::operands);
  constexpr std::uint32_t words = words_of_record(E::operands, E::unit, E::plain_numbers);
  const std::uint64_t tag = to.next;
  double* const at = to.words + static_cast<std::uint32_t>(tag);
  auto* const places = reinterpret_cast<std::uint32_t*>(at + slopes + numbers);
  RecordWriter writer{at, at + slopes, places, E::unit};
  e.write(writer, 1.0);
  places[2 * sources - 1] = Formula<E>::number | Formula<E>::shape;
  at[words - 2] = e.value();
  at[words - 1] = 0;
  to.next = tag + words;
  return tag + (words - 2);
}

}  // namespace detail

template <class E>
concept ScalarExpression = std::is_base_of_v<ScalarExpressionBase, E>;

}  // namespace pencil
