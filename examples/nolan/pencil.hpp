#pragma once

#include "autograd/autograd.hpp"

namespace pencil::nolan {

/// Exact arithmetic, or that of a person with a pencil: what is blown up by e, and the total of it, is kept
/// to four significant digits, everything else to three places after the point, after every step. The
/// roundings are steps of the tape, and blame passes them unchanged.
class Hand {
 public:
  explicit Hand(bool pencil) : pencil_(pencil) {}

  bool pencil() const { return pencil_; }
  Tensor places(const Tensor& x) const;
  Tensor digits(const Tensor& x) const;

 private:
  bool pencil_;
};

/// What looking across the words brings, step by step; all of one asking word, or a row each of several.
struct Look {
  Tensor matches;    // WANT · HAVE
  Tensor scaled;     // ÷ sqrt(width)
  Tensor blown;      // e to the power of each
  Tensor total;      // their sum
  Tensor fractions;  // each ÷ total
  Tensor parts;      // each fraction × its GIVE; with a pencil only, else one step does this and the next
  Tensor sticks;     // fractions × GIVE, added up
};

/// want (width) or (words, width), have and give (slots, width); where `hidden` (slots, i32) is 1 nothing is
/// listened to.
Look look(const Tensor& want, const Tensor& have, const Tensor& give, const Tensor& hidden, const Hand& hand);

}  // namespace pencil::nolan
