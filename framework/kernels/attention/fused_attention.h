#pragma once

#include "framework/core/array.h"
#include "framework/core/random.h"
#include "framework/kernels/attention/key_range.h"

namespace qkv::kernels {

// Scaled dot-product attention of every head h of every sequence b, without storing all scores:
// they are computed and used block by block (Dao et al. 2022, "FlashAttention"). Scores that the
// rule hides from all queries of a vector are not computed.
//
//   S = scale Q Kᵀ + bias, -inf where hidden                   query, output [B, Tq, H, D]
//   P = softmax(S);  O = dropout(P) V                          key, value    [B, Tk, K, D]
//
// Each of the K heads of keys and values serves H / K heads of queries, one after the other.
// A query that sees nothing gets zeros.
struct AttentionArguments {
  KeyRule rule = {};
  const Array* padding = nullptr;  // boolean [B, Tk], true at keys that no query sees
  const Array* bias = nullptr;     // of the computed type; broadcasts to [B, H, Tq, Tk]
  // True: the bias is [H, Tq + Tk - 1]; query i and key j use number i - j + Tk - 1.
  bool bias_is_relative = false;
  double scale = 1.0;
  // Dropout of P: element i of [B, H, Tq, Tk] is kept where kernels::dropout keeps element i.
  double dropout = 0.0;
  RandomStream stream{0};
};

// bf16 arrays are converted to f32 for the computation; log_sum_exp is f32 then.
// log_sum_exp [B, H, Tq] receives log(sum_j exp(S[i, j])), 0 for a query that sees nothing.
void attention(const Array& query, const Array& key, const Array& value,
               const AttentionArguments& arguments, Array& output, Array& log_sum_exp);

struct AttentionGradients {
  Array &query, &key, &value;  // of each head of queries: [B, Tk, H, D] those of key and value
  // The shape of the bias; for a relative bias [B, H, Tq + Tk - 1], the sums of each sequence.
  // nullptr: not needed.
  Array* bias = nullptr;
};

// With M = 1 / (1 - p) where dropout keeps a weight, else 0 (without it 1 everywhere):
//   P = exp(S - log_sum_exp);  dV = (M P)ᵀ dO;  dS = P (M dO Vᵀ - sum_D(dO O))
//   dQ = scale dS K;  dK = scale dSᵀ Q;  dbias = dS, summed over what it was broadcast to
void attention_backward(const Array& query, const Array& key, const Array& value,
                        const AttentionArguments& arguments, const Array& output,
                        const Array& log_sum_exp, const Array& doutput,
                        const AttentionGradients& gradients);

}  // namespace qkv::kernels
