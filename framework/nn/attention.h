#pragma once

#include "framework/nn/dropout.h"
#include "framework/nn/key_value_cache.h"
#include "framework/nn/linear.h"
#include "framework/ops/ops.h"

namespace qkv {

// Every head attends in a projection of its own; their results, side by side, are projected back.
//   Attention(Q, K, V) = softmax(Q Kᵀ / sqrt(D)) V                        Vaswani et al. 2017
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
  // With a key/value cache in the context, x goes on from the tokens that are in it, and stands at
  // the context's first position.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  // Attention of one sequence to another.   x [B, Tq, C], source [B, Tk, C] -> [B, Tq, C]
  // With a cache, the source is read in the first pass only.
  Tensor operator()(const Tensor& x, const Tensor& source, const AttentionMask& mask,
                    ForwardContext& context) const;

  void visit(Visitor& v);

 private:
  KeysAndValues keys_and_values(const Tensor& source) const;
  // The context's trace is told q, k and v [B, T, H, D], the steps of scaled_dot_product_attention,
  // and "concatenated".
  Tensor attend(const Tensor& x, const KeysAndValues& source, const AttentionMask& mask,
                ForwardContext& context) const;
};

}  // namespace qkv
