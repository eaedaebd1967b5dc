// Reads labelled film reviews: the aclImdb folder as published, CSV, TSV and JSON Lines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "examples/imdb/review.hpp"

namespace pencil::imdb {

struct ReadOptions {
  /// Rows that cannot be read are counted and left out; otherwise the first one throws.
  bool skip_bad = false;
};

/// What was read. Texts are well-formed UTF-8 with lines ended by \n: CRLF and a lone CR became \n, each byte
/// of broken UTF-8 a space.
struct Reading {
  std::vector<Review> reviews;      ///< in the order of the source; of a folder, pos before neg by file name
  std::int64_t unlabelled = 0;      ///< files in unsup/, which were not read
  std::int64_t bad_rows = 0;        ///< rows left out
  std::vector<std::string> faults;  ///< why, with file and line, for the first ten of them
  std::int64_t broken_bytes = 0;    ///< bytes of broken UTF-8

  /// Reviews with label 1.
  std::int64_t liked() const;
};

enum class Part : std::uint8_t { train, test };

/// Reads all reviews of a part of a folder, or of a single file (which has no parts).
///
/// A folder has PART/pos and PART/neg, or is itself such a part with pos and neg in it; reviews are the *.txt
/// files. A single file is told by its ending (.csv, .tsv or .tab, .jsonl or .ndjson), another one by its
/// content. Its columns (or keys) are review or text, and sentiment or label, whatever their case and place;
/// others are ignored. Labels are positive or negative, pos or neg, 1 or 0.
///
/// Throws pencil::Error with the path: no such file, a folder without the part, no reviews, missing columns
/// (it lists those there are), and a bad row with its line and the reason. A quote that is never closed
/// throws even with skip_bad: it would silently swallow the rest of the file.
Reading read_reviews(const std::filesystem::path& path, Part part, const ReadOptions& options = {});

/// The study pile and the exam.
struct Piles {
  Reading study;
  Reading exam;
  bool held_out = false;  ///< the exam was taken from the one file there is
};

/// Reads the reviews to learn from, and those to be judged by: `test` if given; else the test part of a
/// folder; else a fifth of the single file, held out by the seed (exam.reviews; all counts are then in
/// study).
Piles read_piles(const std::filesystem::path& data, const std::optional<std::filesystem::path>& test,
                 std::uint64_t seed, const ReadOptions& options = {});

}  // namespace pencil::imdb
