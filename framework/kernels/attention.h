#pragma once

#include "framework/core/array.h"

namespace qkv::kernels {

// Scaled dot-product attention of every head h of every sequence b, without ever holding all
// scores: they are made and used block by block (Dao et al. 2022, "FlashAttention").
//
//   S = scale Q Kᵀ, -inf where hidden;  P = softmax(S);  O = P V        query, output [B, Tq, H, D]
//                                                                       key, value [B, Tk, H, D]
// A causal query i does not see a key j > i + Tk - Tq; nobody sees keys where `padding` (boolean
// [B, Tk], or nullptr) is true. A query that sees nothing gets zeros.
struct AttentionMasks {
  bool causal;
  const Array* padding;
};

// bf16 arrays are computed with as f32; log_sum_exp is f32 then.
// log_sum_exp [B, H, Tq] receives log(sum_j exp(S[i, j])), 0 for a query that sees nothing.
void attention(const Array& query, const Array& key, const Array& value,
               const AttentionMasks& masks, double scale, Array& output, Array& log_sum_exp);

//   P = exp(S - log_sum_exp);  dV = Pᵀ dO;  dS = P (dO Vᵀ - sum_D(dO O))
//   dQ = scale dS K;  dK = scale dSᵀ Q
void attention_backward(const Array& query, const Array& key, const Array& value,
                        const AttentionMasks& masks, double scale, const Array& output,
                        const Array& log_sum_exp, const Array& doutput, Array& dquery, Array& dkey,
                        Array& dvalue);

}  // namespace qkv::kernels
