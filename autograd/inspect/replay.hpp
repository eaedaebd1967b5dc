#pragma once

// A step's two halves run once more, recorded nowhere: what inspectors check and take apart.

#include <cstdint>
#include <span>
#include <string>

#include "autograd/inspect/uses.hpp"
#include "autograd/tape.hpp"

namespace pencil::inspect {

/// What a step's forward gives for what it read, or for other inputs. Throws what forward throws, and Error
/// where an input was freed or overwritten since.
Computed forward_again(const Step& step);
Computed forward_again(const Step& step, Inputs inputs);

/// What its rule gives for dy, checked as in a sweep. Throws what the rule throws, and Error where an input
/// was freed or overwritten since.
Gradients rule_again(const Step& step, const Tensor& dy, Needs needs);
/// The same for one input; undefined where the rule gives nothing for it.
Tensor rule_again(const Step& step, const Tensor& dy, int input);

/// Whether input i can take a gradient, as far as the op and the dtype go. False for plain numbers and where
/// it was freed.
bool differentiable(const Step& step, int input);
/// The same, also where it was freed.
bool passes(const Tape& tape, const Step& step, int input);
/// The inputs that `backward` brings a gradient to.
Needs needs_of(const Tape& tape, const Step& step);

/// Whether a reader has a gradient, kept to be read, and `backward` took what it passes on to that input.
bool brings_gradient(const Tape& tape, const Use& use);

/// An op's step with nothing in the way of running it again.
enum class Readable : std::uint8_t { yes, freed, overwritten };
Readable readable(const Step& step);

/// Whose step a tensor is the output of, of those that are not parameters.
enum class Origin : std::uint8_t { no_tape, live_tape, ended_tape };
Origin origin_of(const Tensor& x);
/// Whether a tensor's numbers stand where another's do: a reshaped or detached one.
bool share_numbers(const Tensor& a, const Tensor& b);

/// The numbers of a float tensor, or of its range from `low` to before `high`, with zeros elsewhere.
Tensor only(const Tensor& x, std::int64_t low, std::int64_t high);
/// The same with each number under a random sign and a factor near 1: linear in the numbers, so that what
/// they contribute cannot cancel but by a coincidence.
Tensor scrambled(const Tensor& x, std::int64_t low, std::int64_t high);
/// x as f64, a handle of its own; i32 stays.
Tensor widened(const Tensor& x);
/// Shape and dtype agree, and every number bit for bit; NaN agrees with NaN.
bool same_bits(const Tensor& a, const Tensor& b);
/// The first number whose bits differ, of tensors of one shape and dtype; −1 if none.
std::int64_t first_difference(const Tensor& a, const Tensor& b);

/// One of a tensor's numbers.
double number_at(const Tensor& x, std::int64_t flat);

}  // namespace pencil::inspect
