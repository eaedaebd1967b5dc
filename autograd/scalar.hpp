#pragma once

#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/scalar_expression.hpp"

namespace pencil {

class Tensor;

/// What may stand right of += and the like: a Scalar, an expression or a number.
template <class X>
concept ScalarAddend = std::is_same_v<X, Scalar> || ScalarExpression<X> || detail::Number<X>;

/// A double on the tape, for code that is written number by number:
///
///     std::vector<Scalar> s = scalars({2, 1, 1}, "s");   // leaves, which collect gradients
///     Tape tape; …                                       // (made while a tape lives on this thread)
///     Scalar z = s[0] * s[1] + exp(s[2]);                // one statement of the tape
///     tape.backward(z);
///     s[0].grad();                                       // 1
///
/// A Scalar is a value of 16 bytes. Whatever arithmetic stands right of one `=` becomes one statement, with
/// its value, its slopes and its plain numbers. Without a tape a Scalar is a plain double, and so is one made
/// of a number, or computed under Tape::Pause: a constant. A Scalar of another live tape is a constant here;
/// arithmetic with one of a tape that has ended throws Error.
///
/// Comparisons compare values and leave nothing on the tape.
class Scalar {
 public:
  Scalar() = default;
  /// A constant.
  template <detail::Number N>
  PENCIL_INLINE Scalar(N number) : value_(static_cast<double>(number)) {}  // NOLINT: a number is a Scalar
  /// Records an expression as one statement.
  template <ScalarExpression E>
  PENCIL_INLINE Scalar(const E& e) : Scalar(recorded(e)) {}  // NOLINT
  template <ScalarExpression E>
  PENCIL_INLINE Scalar& operator=(const E& e) {
    return *this = recorded(e);
  }

  double value() const { return value_; }
  explicit operator double() const { return value_; }

  /// The gradient `backward` brought; 0 where none of it came this way. Throws Error before backward, for
  /// constants, for what was recorded after the number that backward started from, and where its tape has
  /// ended or belongs to another thread.
  double grad() const {
    const std::uint64_t place = tag_ - detail::recorder.first;
    if (place > detail::recorder.swept) [[unlikely]]
      return slow_grad();
    return detail::recorder.words[place + 1];
  }
  /// Whether it is on no tape.
  bool is_constant() const { return tag_ == 0; }
  /// Its name on its tape, or "".
  std::string name() const;

  template <ScalarAddend X>
  PENCIL_INLINE Scalar& operator+=(const X& x);
  template <ScalarAddend X>
  PENCIL_INLINE Scalar& operator-=(const X& x);
  template <ScalarAddend X>
  PENCIL_INLINE Scalar& operator*=(const X& x);
  template <ScalarAddend X>
  PENCIL_INLINE Scalar& operator/=(const X& x);

  /// For the tape: its place there, and the tape's serial number in the upper half.
  std::uint64_t tag() const { return tag_; }
  static Scalar tagged(double value, std::uint64_t tag) { return {value, tag}; }

 private:
  PENCIL_INLINE Scalar(double value, std::uint64_t tag) : value_(value), tag_(tag) {}

  template <class E>
  PENCIL_INLINE static Scalar recorded(const E& e) {
    detail::Recorder& recorder = detail::recorder;
    if ((e.strangers(recorder.next) >> 32) != 0 || recorder.next > recorder.limit) [[unlikely]] {
      if (e.tags() == 0) return {e.value(), 0};
      E copy = e;  // a copy, so that the expression itself need never stand in memory
      return recorded_with_strangers(copy);
    }
    return {e.value(), detail::record(recorder, e)};
  }
  template <class E>
  [[gnu::noinline, gnu::cold]] static Scalar recorded_with_strangers(E& e) {
    bool any = false;
    e.each_leaf([&](detail::ScalarLeaf& leaf) { any |= detail::meet(leaf.tag); });
    if (!any) return {e.value(), 0};
    detail::need_room(words_needed<E>);
    e.each_leaf([](detail::ScalarLeaf& leaf) {
      if (!detail::on_current_tape(leaf.tag)) leaf.tag = detail::record_constant(leaf.number);
    });
    return {e.value(), detail::record(detail::recorder, e)};
  }
  template <class E>
  static constexpr std::uint64_t words_needed = detail::words_of_record(E::operands, E::unit,
                                                                        E::plain_numbers) +
                                                3 * E::operands;
  double slow_grad() const;

  double value_ = 0;
  std::uint64_t tag_ = 0;
};

/// New leaves on the tape that records on this thread; without one, or under Tape::Pause, constants. The
/// leaves of a named block are printed as name[0], name[1], ….
std::vector<Scalar> scalars(std::span<const double> values, std::string_view name = "");
inline std::vector<Scalar> scalars(std::initializer_list<double> values, std::string_view name = "") {
  return scalars(std::span(values.begin(), values.size()), name);
}
/// The same with a name for each. Throws Error where there are not as many names as values.
std::vector<Scalar> scalars(std::initializer_list<double> values,
                            std::initializer_list<std::string_view> names);

/// Gives a Scalar a name for printed tapes and returns it; a constant has none.
Scalar named(const Scalar& x, std::string name);

/// Statements over a range of Scalars, each one line of the tape. Over nothing: 0, 0, 0 and −∞.
Scalar sum(std::span<const Scalar> x);
Scalar mean(std::span<const Scalar> x);
/// Σ xᵢ yᵢ. Throws Error where the lengths differ.
Scalar dot(std::span<const Scalar> x, std::span<const Scalar> y);
/// log Σ exp(xᵢ), without overflow. Its gradient is the softmax of x; of several +∞ equal shares.
Scalar log_sum_exp(std::span<const Scalar> x);

namespace detail {
/// What `stack` and `unstack` (autograd/ops/scalars.hpp) do once the tensor is f64.
Tensor stacked(std::span<const Scalar> x, std::source_location where);
std::vector<Scalar> unstacked(const Tensor& x, std::source_location where);
}  // namespace detail

}  // namespace pencil

#include "autograd/scalar_functions.hpp"
