#pragma once

#include <algorithm>

#include "framework/kernels/attention/key_range.h"
#include "framework/ops/ops.h"
#include "framework/ops/support/masked_matmul.h"

// The formula of attention, step by step: the op `attention` gives the same without holding the
// steps. Vaswani et al., "Attention is all you need", 2017.
namespace qkv {

// scale Q Kᵀ + bias, -inf where a key is hidden
//   query [B, H, Tq, D], key [B, H, Tk, D] -> [B, H, Tq, Tk]
// Notes "scores", before anything is hidden, and "masked_scores".
Tensor masked_scores(const Tensor& query, const Tensor& key, const AttentionOptions& options);

// The weights that each query gives the keys; rows sum to 1, or are zeros where no key is seen.
//   query [B, H, Tq, D], key [B, H, Tk, D] -> [B, H, Tq, Tk]
// Notes those of masked_scores, and "weights" (their softmax).
Tensor attention_weights(const Tensor& query, const Tensor& key, const AttentionOptions& options);

// Attention(Q, K, V) = dropout(softmax(scale Q Kᵀ + bias)) V
//   query [B, H, Tq, D], key and value [B, H, Tk, D] -> [B, H, Tq, D]
// Notes "dropped_weights" too, where there is dropout, and "heads", the result.
Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options);

// Heads that several queries share, repeated for each of them, one after the other:
//   [B, T, K, D] -> [B, T, heads, D]
// and the transpose of that: the sums of those that stem from one.   [B, T, H, D] -> [B, T, K, D]
Tensor repeated_heads(const Tensor& x, int64_t heads);
Tensor sum_of_repeated_heads(const Tensor& x, int64_t shared);

// x [B, T, C] with zeros where the last T of the padding are true, if x is not finite.
Tensor without_padding(const Tensor& x, const Tensor& padding);

// Boolean: where x is at most the limit.
Tensor is_at_most(const Tensor& x, double limit);

// The keys that each query sees by `causal`, `window` and `first_query`. Throws Error where these
// do not fit the lengths.
kernels::KeyRule key_rule(const AttentionMask& mask, int64_t queries, int64_t keys);

// So many numbers a relative bias has for each head: one for each distance.
inline int64_t distance_count(int64_t queries, int64_t keys) {
  return std::max<int64_t>(0, queries + keys - 1);
}

// A relative bias for each pair, [H, distances] -> [H, Tq, Tk], and the transpose of that: the sums
// of the pairs that are equally far apart.
Tensor bias_of_pairs(const Tensor& relative_bias, int64_t queries, int64_t keys);
Tensor sum_of_distances(const Tensor& pairs);

// boolean [B, 1, Tq, Tk], or [1, 1, Tq, Tk] without padding: true where a query does not see a key.
Tensor hidden_keys(const AttentionMask& mask, int64_t queries, int64_t keys);

}  // namespace qkv
