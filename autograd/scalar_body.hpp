#pragma once

// The scalar half of a tape; part of tape_body.hpp.
//
// Statements stand in memory of their own (scalar_record.hpp). Between two tensor steps they form a run, and
// a step of kind `scalars` stands for it in the list of steps. So the order of creation is the order of
// (step, place), and one sweep walks both. Runs are closed when a tensor step follows or someone looks.

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "autograd/scalar_record.hpp"
#include "autograd/tensor.hpp"

namespace pencil::detail {

/// Memory for statements: address space reserved once, whose pages come as they are written. A thread keeps
/// its stretches for later tapes.
class Stretch {
 public:
  Stretch();
  ~Stretch();
  Stretch(const Stretch&) = delete;
  Stretch& operator=(const Stretch&) = delete;

  double* words() const { return words_; }
  std::uint64_t size() const { return size_; }
  /// So many words were written; what is beyond a bound goes back to the system when the tape ends.
  void used(std::uint64_t words) { used_ = words; }

 private:
  double* words_ = nullptr;
  std::uint64_t size_ = 0;
  std::uint64_t used_ = 0;
};

/// Statements that stand between two tensor steps, and the step that stands for them.
struct Run {
  std::uint32_t begin = 0, end = 0;  // words
  std::int32_t step = -1;
  std::vector<std::uint32_t> stacked;  // the places whose values make up the run's output; 0 for a constant
};

/// Leaves made together.
struct Block {
  std::uint32_t begin = 0, end = 0;  // words, without the record that closes it
  std::int32_t step = -1;            // the step whose numbers they are (unstack), or −1
  std::string name;
};

struct Statements {
  static constexpr std::uint32_t first_place = 2;  // place 0 means "none"

  /// Begins to record on this thread; `serial` is the tape's, 32 bits of it.
  explicit Statements(std::uint32_t serial);
  ~Statements();

  /// Puts the recorder aside, so that nothing is recorded here; and takes it up again.
  void stop();
  void resume() { *home = aside; }
  /// The state of the recorder: this thread's, or, where another tape records now, what was put aside.
  Recorder& state() { return home->first == aside.first ? *home : aside; }
  const Recorder& state() const { return home->first == aside.first ? *home : aside; }
  double* words() const { return aside.words; }
  std::uint32_t end() const { return static_cast<std::uint32_t>(state().next); }
  bool has(std::uint64_t tag) const { return (tag ^ aside.first) >> 32 == 0; }

  /// The run a place stands in (runs must be closed), the run a step stands for, the block a leaf stands in.
  const Run& run_of(std::uint32_t place) const;
  const Run* run_of_step(int step) const;
  /// Where the last run up to a step ends.
  std::uint32_t end_before(int step) const;
  const Block* block_of(std::uint32_t place) const;
  /// Whether a constant that a statement met stands at a place.
  bool is_constant(std::uint32_t place) const;
  /// The blocks that begin in words [begin, end).
  std::span<const Block> blocks_between(std::uint32_t begin, std::uint32_t end) const;
  /// A Scalar's own name, or its block's with its number in it, or "".
  std::string name_of(std::uint32_t place) const;
  /// That name, or s and its number on the tape: "s7".
  std::string label_of(std::uint32_t place) const;

  /// Sets all gradients before word `end` to 0.
  void clear_gradients(std::uint32_t end);
  /// All gradients before word `end`, from the last to the first, and back.
  std::vector<double> gradients(std::uint32_t end) const;
  void set_gradients(std::uint32_t end, std::span<const double> gradients);

  /// The Scalar that `backward` started from; 0 before, and where it started from a tensor.
  std::uint32_t swept_from = 0;
  /// With stop_on_nonfinite: values before this word have been looked at.
  std::uint32_t guarded = first_place;

  Stretch stretch;
  Recorder aside;
  Recorder* home;
  std::vector<Run> runs;
  std::vector<Block> blocks;
  std::unordered_map<std::uint32_t, std::string> names;
};

/// A record as it lies in memory.
struct RecordView {
  RecordView(const double* words, std::uint32_t at);

  Header header;
  std::uint32_t place;
  std::uint32_t begin;             // its first word; for a block, the first of all its leaves
  std::uint32_t operands;          // for a block, its leaves
  std::span<const double> slopes;  // one for all where a range shares one; none for a leading summand
  std::span<const double> numbers;
  std::span<const std::uint32_t> sources;

  bool is_block() const { return header.shape() == Header::block; }
  bool is_constant() const { return header.shape() == Header::constant; }
  /// Whether it is said what it computes: not of a formula beyond the last number for one.
  bool is_known() const { return is_range() || header.formula() > 0; }
  bool is_range() const { return !is_block() && header.operands() == Header::many; }
};

/// The slope of a statement by operand k.
double slope_of(const RecordView& record, std::size_t k);

/// Calls f(place) for each Scalar whose record ends before word `end` and behind word `begin`, leaves and
/// statements, from the last to the first; constants that statements met are left out.
template <class F>
void each_scalar_back(const double* words, std::uint32_t begin, std::uint32_t end, const F& f) {
  while (end > begin) {
    const RecordView record(words, end - 2);
    if (record.is_block())
      for (std::uint32_t i = record.operands; i-- > 0;) f(record.begin + 2 * i);
    else if (!record.is_constant())
      f(record.place);
    end = record.begin;
  }
}

/// Adds up gradients from the record at place `from` back to the first one behind word `begin`.
void sweep_records(double* words, std::uint32_t from, std::uint32_t begin);

}  // namespace pencil::detail
