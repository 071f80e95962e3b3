#pragma once

#include "framework/graph/tensor.h"

namespace qkv {

// The last step of attention in bf16, which rounds what backward reads again:
//   O = N / s, rounded to bf16           N: [..., D], s: [..., 1], O, dO: [..., D]
//   dN = dO / s,  ds = -sum(dO O) / s    sum over D
// N is f32, and holds exp(S) V for scores S, and s is sum(exp(S)): where it is 0, O is 0. In the
// place of sum(dO O), softmax(S) V would have sum(P dP), which is the same but for rounding. Dao et
// al., "FlashAttention", 2022.
Tensor attention_output(const Tensor& numerators, const Tensor& sums);

}  // namespace qkv
