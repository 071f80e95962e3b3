#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// Over the last axis of [rows, C]. A row of nothing but -inf (all masked) gives zeros, not NaN, and
// -inf gives 0 in a row with NaN, too.
void softmax(const Array& x, Array& y);
// dx = y (dy - sum(y dy)); where y or dy is 0, the other one counts for nothing, even if it is NaN.
void softmax_backward(const Array& y, const Array& dy, Array& dx);

void log_softmax(const Array& x, Array& y);
// dx = dy - exp(y) sum(dy)
void log_softmax_backward(const Array& y, const Array& dy, Array& dx);

// Cross-entropy of each row against a target class, with label smoothing s:
//   loss[n] = -sum_c q[n, c] log p[n, c],  p = softmax(logits)
//   q = (1 - s) one_hot(target) + s / V
//   logits [N, V], targets [N] (i64), loss [N], log_sum_exp [N]
// A row whose target is `ignored` has loss 0.
void cross_entropy(const Array& logits, const Array& targets, int64_t ignored, double smoothing,
                   Array& loss, Array& log_sum_exp);
// dlogits[n, :] = (p[n, :] - q[n, :]) dloss[n]; 0 in ignored rows.
void cross_entropy_backward(const Array& logits, const Array& targets, const Array& log_sum_exp,
                            int64_t ignored, double smoothing, const Array& dloss, Array& dlogits);

}  // namespace qkv::kernels
