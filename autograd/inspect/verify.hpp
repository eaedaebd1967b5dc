#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tape.hpp"

namespace pencil {

struct VerifyOptions {
  std::uint64_t seed = 1;  // of the upstream gradients, directions and positions
  int positions = 3;       // how many numbers of each input are moved alone, at random
  std::int64_t most =
      4096;  // inputs of more numbers are moved in one random direction only: two forwards an input
  double relative =
      1e-5;  // what a rule and central differences may differ by, relative to the gradient's scale
};

/// What `verify` checked, what was wrong, and what it could not check.
struct Verification {
  /// The three things a step is asked: does its forward give the recorded output again, does its rule agree
  /// with its forward, and is the recorded gradient what the rules of its readers give?
  enum class Part : std::uint8_t { forward, rule, blame };
  enum class Reason : std::uint8_t {
    freed,          // Keep::leaves
    overwritten,    // a parameter was written since
    paused,         // recorded as a mark only
    foreign,        // another tape's value
    no_derivative,  // the op has no rule
    refused,        // forward or rule threw: a third derivative of a formula
    not_f64,        // the op does not compute in f64
    not_finite,     // at a NaN or infinity there are no differences
    coarse,         // the differences of large numbers are too rough for so small a slope
    kink            // the slopes to the left and to the right differ
  };
  struct Fault {
    int step;
    std::string word;  // its op's
    Part part;
    std::string text;
  };
  struct Unchecked {
    int step;
    Part part;
    Reason reason;
    std::string text;  // what there is to say beyond the reason; often ""
  };

  int steps = 0;
  int forwards = 0;  // steps whose forward was run again and compared
  int rules = 0;     // steps whose rule was compared with central differences, in at least one direction
  int slopes = 0;    // in so many directions
  int blames = 0;    // steps whose recorded gradient was added up again and compared
  /// Of Scalars: statements computed again, slopes that agree with differences, and gradients added up again.
  std::int64_t statements = 0, statement_slopes = 0, statement_blames = 0;
  std::vector<Fault> faults;         // by step, the earliest first
  std::vector<Unchecked> unchecked;  // by step

  /// Nothing that was checked is wrong.
  bool ok() const { return faults.empty(); }
};

std::string_view name_of(Verification::Part part);
std::string_view name_of(Verification::Reason reason);

/// Whether a tape tells the truth. Runs every step's forward again on what it read and compares output and
/// saved tensors bit for bit (NaN agrees with NaN). Runs every rule in f64, under a random upstream gradient,
/// and compares with central differences of its forward: in one random direction of each input and at a few
/// of its numbers. And adds up again what the rules of a step's readers give for the gradients recorded
/// there, in the order of the sweep, and compares with the gradient recorded, bit for bit (after `backward`,
/// with Keep::all).
///
/// Scalar statements are computed again in long double, with a bound for what rounding in double may have
/// done; their slopes are compared with central differences of that; and their gradients are added up again
/// within rounding.
///
/// What it could not check is listed with its reason, step by step; leaves need no check. Changes nothing:
/// all runs on tapes of its own. Takes some ten forwards a step; inputs that the op calls constant stay as
/// they are. Never recursive.
Verification verify(const Tape& tape, const VerifyOptions& options = {});

/// A summary: what was checked, each fault, and what could not be checked by reason, with the numbers of the
/// steps.
std::string to_string(const Verification& verification);

}  // namespace pencil
