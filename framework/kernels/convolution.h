#pragma once

#include "framework/core/array.h"

// Sums over a few neighbouring positions of a sequence. Tap k of position t reads position
// t + k - before; beyond the ends there are zeros.
namespace qkv::kernels {

// windows[b, t, k C + c] = x[b, t + k - before, c]     x [B, T, C], windows [B, T, K C] of any type
void unfold(const Array& x, int64_t before, Array& windows);

// The transpose of unfold: x[b, s, c] = sum_k windows[b, s - k + before, k C + c]. f32, f64, bf16;
// the sums of bf16 numbers are f32.
void fold(const Array& windows, int64_t before, Array& x);

// y[b, t, c] = sum_k weight[c, k] x[b, t + k - before, c] + bias[c]
//   x, y [B, T, C], weight [C, 1, K], bias [C] or nullptr
void depthwise_convolution(const Array& x, const Array& weight, const Array* bias, int64_t before,
                           Array& y);
// dx[b, s, c] = sum_k weight[c, k] dy[b, s - k + before, c]
// dweight[c, k] = sum_{b, t} dy[b, t, c] x[b, t + k - before, c]
void depthwise_convolution_backward(const Array& x, const Array& weight, int64_t before,
                                    const Array& dy, Array& dx, Array& dweight);

}  // namespace qkv::kernels
