#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pencil::coffee {

/// The sketchbook's 27 notes.
std::span<const std::string_view> sketchbook_notes();

/// The words of a note: runs of at least two letters, digits or underscores, A–Z lower-cased; bytes of other
/// alphabets count as letters.
std::vector<std::string> words_of(std::string_view note);

/// A note a line; lines without a word are left out. Throws Error where the file cannot be read or holds no
/// word.
std::vector<std::string> read_notes(const std::string& path);

/// How often words meet.
struct Meetings {
  std::vector<std::string> words;  // in byte order
  std::vector<double> counts;      // (words, words): notes in which both stand, times how often; diagonal 0

  /// The place of a word, or −1.
  std::int64_t place(std::string_view word) const;
  /// How often the words at two places met.
  double times(std::int64_t a, std::int64_t b) const {
    return counts[static_cast<std::size_t>(a) * words.size() + static_cast<std::size_t>(b)];
  }
};

Meetings count_meetings(std::span<const std::string_view> notes);

/// A point in the plane for each row of a square table (n, n), n ≥ 2: the first two principal components of
/// the rows (columns centred; singular value decomposition by LAPACKE). The sign of a component is free; here
/// the point farthest out on it is positive. Row-major (n, 2).
std::vector<double> plane_points(std::span<const double> table, std::int64_t n);

}  // namespace pencil::coffee
