#pragma once

// How a gradient gets from a loss to a tensor, and where it cannot.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "autograd/inspect/uses.hpp"
#include "autograd/inspect/zero.hpp"
#include "autograd/tape.hpp"

namespace pencil::inspect {

/// What leads from one step to a later one. Linear in the steps between.
class Paths {
 public:
  Paths(const Tape& tape, int from, int to);

  /// Whether steps that read each other lead there, and whether derivatives do all the way.
  bool by_readings() const { return reads_[index(to_)]; }
  bool by_derivatives() const { return differentiable_[index(to_)]; }
  /// The last step that comes of the first; itself if nothing does.
  int last() const { return last_; }
  /// The last mark that Scalars which come of the first step were met under Tape::Pause; −1 if there is none.
  int last_pause() const { return last_pause_; }
  /// The first step on a way there that derivatives lead to and not through, and its input they lead to.
  std::pair<int, int> first_break() const;
  /// The first step on a way of derivatives that got a gradient and gave none to an input, and that input.
  std::pair<int, int> first_not_given() const;

 private:
  std::size_t index(int step) const { return static_cast<std::size_t>(step - from_); }
  bool comes_of(const Step& step, int input, const std::vector<bool>& marks) const;

  const Tape& tape_;
  int from_, to_, last_, last_pause_ = -1;
  std::vector<bool> reads_, differentiable_;  // of the steps from `from_`: what comes of it
  std::vector<bool> leads_;                   // and whether it leads to `to_`
};

/// The steps by which most of the gradient of some numbers came, the tensor's own first, the loss last: of
/// each step's readers the one that gives most.
std::vector<int> strongest_path(const Tape& tape, const Uses& uses, const Numbers& numbers);
/// "3 → 5 → 9", the middle of long ones left out.
std::string path_text(const std::vector<int>& path);

/// How large some of a tensor's numbers are.
struct Size {
  double norm = 0;
  std::int64_t nonzero = 0, count = 0;
};
Size size_of(const Tensor& x, const Numbers& numbers);

}  // namespace pencil::inspect
