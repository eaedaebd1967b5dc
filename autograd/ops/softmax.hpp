#pragma once

#include "autograd/op.hpp"

namespace pencil {

/// exp(x − m) / Σ exp(x − m) along an axis, m the largest x: fractions that add up to 1. A row of −∞ only is
/// NaN, as IEEE 754 has it; see masked_softmax.
Tensor softmax(const Located& x, int axis = -1);
/// The softmax over the last axis of what the mask (i32, broadcast to x) lets through, where it is not 0.
/// Fractions and gradients elsewhere are exactly 0, whatever x holds there; so is a row with nothing left.
Tensor masked_softmax(const Located& x, const Located& mask);
/// x − log Σ exp(x) along an axis, without overflow.
Tensor log_softmax(const Located& x, int axis = -1);

/// (x − mean) / √(variance + epsilon) · weight + bias over the last axis; the variance is that over all its
/// numbers. weight and bias have the size of the last axis. (Ba, Kiros, Hinton: Layer Normalization, 2016.)
Tensor layer_norm(const Located& x, const Located& weight, const Located& bias, double epsilon = 1e-5);

}  // namespace pencil
