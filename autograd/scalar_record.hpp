#pragma once

// How a tape keeps scalar statements. A user needs autograd/scalar.hpp only.
//
// All statements of a tape stand one behind the other in one stretch of 8-byte words. A record is
//
//     slopes … | numbers … | sources … header | value | gradient
//
// one slope (∂value/∂operand) for each operand, the plain numbers of the formula, the operands' places (4
// bytes each, filled up to whole words) and a header of 4 bytes. A record's place is where its value stands,
// so its header is the 4 bytes before it, and the sweep can walk from record to record backwards.
//
// A statement whose first operand is a plain summand (`total += …`) stores no slope for it: it is 1.
// Leaves made together are one block: value, gradient, value, gradient, …, and a record that closes it.

#include <cstddef>
#include <cstdint>
#include <span>

namespace pencil::detail {

/// What one node of a formula does. A formula is kept as its nodes in postfix order.
enum class Operation : std::uint8_t {
  leaf,    // a Scalar
  number,  // a plain number
  add,
  subtract,
  multiply,
  divide,
  negate,
  exp,
  expm1,
  log,
  log1p,
  sqrt,
  sin,
  cos,
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  erf,
  abs,
  pow,
  min,
  max,
  hypot,
  // Statements over a range of Scalars.
  sum,
  mean,
  dot,
  log_sum_exp
};

/// A function's name or an operator's sign.
const char* name_of(Operation operation);

/// The header of a record: which formula, and how many of what stand before it.
struct Header {
  static constexpr std::uint32_t unit = 0x80;         // the first operand's slope is 1 and not stored
  static constexpr std::uint32_t many = 0x7f;         // operands: a range, counted in the 4 bytes before
  static constexpr std::uint32_t most = many - 1;     // operands of a formula
  static constexpr std::uint32_t most_numbers = 255;  // plain numbers of a formula
  static constexpr std::uint32_t constant = 0;        // a Scalar that is on no tape, met by a statement
  static constexpr std::uint32_t block = 1 << 8;      // closes a block of leaves, counted likewise

  std::uint32_t bits;

  std::uint32_t shape() const { return bits & 0xffff; }
  std::uint32_t operands() const { return bits & 0x7f; }
  bool has_unit() const { return (bits & unit) != 0; }
  std::uint32_t numbers() const { return bits >> 8 & 0xff; }
  std::uint32_t formula() const { return bits >> 16; }
};

/// The words of so many sources and their header.
constexpr std::uint32_t words_of_sources(std::uint32_t operands) { return (operands + 2) / 2; }
/// The words of a formula's record.
constexpr std::uint32_t words_of_record(std::uint32_t operands, bool unit, std::uint32_t numbers) {
  return operands - (unit ? 1 : 0) + numbers + words_of_sources(operands) + 2;
}

/// Where this thread's Scalars are recorded. A Scalar's tag has the tape's serial number in its upper half
/// and its place in the lower; no tape has the serial numbers 0 (a constant's) and 2³² − 1.
struct Recorder {
  static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

  double* words = nullptr;
  std::uint64_t next = nowhere;   // where the next record begins, as a tag
  std::uint64_t limit = 0;        // no record may begin behind it
  std::uint64_t first = nowhere;  // place 0, as a tag
  std::uint64_t swept = 0;        // places up to here have got their gradient
};
inline constinit thread_local Recorder recorder;

/// Notes a formula, once a program; its number stands in the upper half of a header. 0 when there are more
/// than fit: such a formula is not printed.
std::uint32_t register_formula(std::span<const Operation> code);
/// The code of a formula; empty for 0.
std::span<const Operation> formula_code(std::uint32_t formula);

/// Whether a Scalar is recorded on the tape that records now. Throws Error for one of a tape that has ended.
bool on_current_tape(std::uint64_t tag);
/// The same of an operand of a statement; where its tape is paused, a mark is left there.
bool meet(std::uint64_t tag);
/// A record of a constant on the tape that records now; its tag.
std::uint64_t record_constant(double value);
/// Throws Error where the current tape has no room for so many words.
void need_room(std::uint64_t words);

}  // namespace pencil::detail
