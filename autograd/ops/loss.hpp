#pragma once

#include "autograd/op.hpp"

namespace pencil {

// Losses: one number, the mean over all (0, with gradient 0, over nothing). Predictions and labels are never
// broadcast against each other: (N, 1) against (N) is taken as the same, any other difference throws Error.

/// −log of the chance given to what came true: labels 0 or 1, i32 or p's dtype; p the chance of a 1, clipped
/// to [1e-7, 1 − 1e-7] as in Keras, with gradient 0 beyond. Throws Error for p outside 0 … 1 (NaN passes)
/// and, with the row, for any label but 0 and 1. Prefer the form with logits, which keeps its gradient.
Tensor binary_cross_entropy(const Located& p, const Located& labels);
/// The same for p = sigmoid(z), exact for large |z|: the gradient is (sigmoid(z) − label) / n.
Tensor binary_cross_entropy_with_logits(const Located& z, const Located& labels);
/// log Σ exp(scores) − scores[label]: scores (N, classes), labels (N) i32. Throws Error, with the row, for a
/// label outside 0 … classes − 1.
Tensor cross_entropy(const Located& scores, const Located& labels);
/// (p − y)²; y in p's dtype or i32.
Tensor mse(const Located& p, const Located& y);

}  // namespace pencil
