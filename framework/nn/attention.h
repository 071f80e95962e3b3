#pragma once

#include "framework/nn/dropout.h"
#include "framework/nn/linear.h"

namespace qkv {

// Which keys a query may not see.
struct AttentionMask {
  bool causal = false;  // those after it; where Tq < Tk, the last query stands at the last key
  Tensor padding;       // boolean [B, Tk], true at padding; undefined: none
};

// boolean [Tq, Tk], true where key j comes after query i.
Tensor causal_mask(int64_t query_length, int64_t key_length);

// Attention(Q, K, V) = softmax(Q Kᵀ / sqrt(D)) V                          Vaswani et al. 2017
//   query [B, H, Tq, D], key and value [B, H, Tk, D] -> [B, H, Tq, D]
// Without `scale_scores` nothing is divided. The context's trace is told "scores" before the mask,
// "masked_scores", "weights", "dropped_weights" and "heads".
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionMask& mask, bool scale_scores,
                                    const Dropout& dropout, ForwardContext& context);

// Every head attends in a projection of its own; their results, side by side, are projected back.
struct MultiHeadAttention {
  // C -> C: the rows of head h are h D … h D + D - 1
  Child<"query", Linear> query;
  Child<"key", Linear> key;
  Child<"value", Linear> value;
  Child<"output", Linear> output;  // C -> C
  int64_t num_heads = 1;
  bool scale_scores = true;
  Dropout weight_dropout;  // of the attention weights
  Dropout output_dropout;

  // Self-attention: queries, keys and values from one sequence.   x [B, T, C] -> [B, T, C]
  // With a key/value cache in the context, x goes on from the tokens that are in it.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  // Attention of one sequence to another.   x [B, Tq, C], source [B, Tk, C] -> [B, Tq, C]
  Tensor operator()(const Tensor& x, const Tensor& source, const AttentionMask& mask,
                    ForwardContext& context) const;

  void visit(Visitor& v);
};

}  // namespace qkv
