#pragma once

#include "framework/graph/tensor.h"

namespace qkv {

// The last step of attention as kernels have it, whose backward reads what was rounded:
//   O = N / s in `dtype`                 N: [..., D], s: [..., 1], O, dO: [..., D]
//   dN = dO / s,  ds = -sum(dO O) / s    sum over D
//   Ȯ = (Ṅ - O ṡ) / s
// For scores S, N is exp(S) V and s is sum(exp(S)), which must not be 0. In the place of sum(dO O),
// softmax(S) V would have sum(P dP): the same, but for rounding. Dao et al., "FlashAttention",
// 2022.
Tensor attention_output(const Tensor& numerators, const Tensor& sums, DType dtype);

}  // namespace qkv
