#pragma once

// What the ops of this folder share to say their arithmetic; no part of the public interface.

#include <vector>

#include "autograd/arithmetic.hpp"
#include "autograd/ops/support.hpp"

namespace pencil::detail {

/// The row-major places of a tensor of shape `from` that are added up into one number of `to`, which
/// broadcasts to it.
std::vector<std::int64_t> summed_places(const Shape& from, const Shape& to, std::int64_t element);

/// The numbers of input i at some places, or along an axis.
std::vector<Worked> inputs_at(Worksheet& sheet, int i, std::span<const std::int64_t> places);
std::vector<Worked> inputs_along(Worksheet& sheet, int i, const Line& line);

/// Where the first largest of some numbers stands, the first NaN if there is one; there is a number.
std::size_t first_largest(std::span<const Worked> x);
/// The largest number, NaN if there is one, and the smallest; of none 0.
Worked largest(Worksheet& sheet, std::span<const Worked> x);
Worked smallest(Worksheet& sheet, std::span<const Worked> x);

/// Σ x / n; the mean of nothing is 0.
Worked mean_of(Worksheet& sheet, std::span<const Worked> x);

/// The softmax recipe: blow each number up by e, and total them.
struct BlownUp {
  std::vector<Worked> each;  // e^x, or e^(x − largest)
  Worked total;
  Worked shift;  // the largest, or a plain 0
};
/// As the documents write it, e^x; where the total is too large or too small for the dtype, of x less the
/// largest. The total has a line; with `lines` so has each e^x, to be read on its own.
BlownUp blown_up(Worksheet& sheet, std::span<const Worked> x, DType dtype, bool lines);
/// log Σ eˣ by that recipe; infinite where the largest is.
Worked log_of_total(Worksheet& sheet, std::span<const Worked> x, DType dtype);
/// Notes that the kernels take the largest off, where the arithmetic does not.
void note_shift(Worksheet& sheet, std::span<const Worked> x, const BlownUp& e);
/// Whether e^x is beyond the dtype.
bool blows_up_beyond(double x, DType dtype);

/// Whether all numbers are −∞, which leaves a softmax over what a mask shows nothing to share: 0, which it
/// notes.
bool nothing_to_share(Worksheet& sheet, std::span<const Worked> x);

/// Notes how many of all are left out.
void note_hidden(Worksheet& sheet, std::int64_t hidden, std::int64_t all);

/// The arithmetic of an op whose output is its only input's numbers in the same order.
inline Worked same_place(Worksheet& sheet, std::int64_t element) { return sheet.input(0, element); }

}  // namespace pencil::detail
