#pragma once

#include <optional>

#include "framework/nn/forward_context.h"
#include "framework/nn/layer_options.h"
#include "framework/nn/layers.h"
#include "framework/nn/mixers/key_value_cache.h"
#include "framework/nn/mixers/position.h"
#include "framework/ops/ops.h"

namespace qkv {

// Every head attends in a projection of its own; their results, side by side, are projected back.
//   Attention(Q, K, V) = softmax(Q Kᵀ / sqrt(D)) V                        Vaswani et al. 2017
struct MultiHeadAttention {
  Projections projections = Projections::kSeparate;
  // The heads of each map are concatenated: head h has the features h D … h D + D - 1.
  // `projections` decides which maps exist: shared_key_value has no "key"; shared has no "key" and
  // no "query"; none has no map.
  Child<"query", Projection> query;    // C -> H D
  Child<"key", Projection> key;        // C -> K D
  Child<"value", Projection> value;    // C -> K D
  Child<"output", Projection> output;  // H D -> C
  int64_t num_heads = 1;               // H
  // K, a divisor of H: H / K query heads share one key and value head. 0: K = H.
  // Shazeer, "Fast transformer decoding", 2019 (K = 1); Ainslie et al., "GQA", 2023.
  int64_t num_key_value_heads = 0;
  // Each head's queries and keys have a mean square of 1, times a learned weight of each feature:
  // before they are turned. Henry et al. 2020; Dehghani et al. 2023.
  bool normalizes = false;
  Child<"query_norm", RmsNorm> query_norm = {};  // of D features
  Child<"key_norm", RmsNorm> key_norm = {};      // of D features
  bool scale_scores = true;                      // divide by sqrt(D)
  std::optional<double> scale = {};              // or multiply by this
  Child<"position", AttentionPosition> position = {};
  Dropout weight_dropout;  // of the attention weights
  Dropout output_dropout;

  // Self-attention: queries, keys and values from one sequence.   x [B, T, C] -> [B, T, C]
  // With a key/value cache in the context, x continues the cached tokens, and begins at the
  // context's first position.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  // Attention of one sequence to another.   x [B, Tq, C], source [B, Tk, C] -> [B, Tq, C]
  // With a cache, the source is read in the first pass only, and may be undefined in the others.
  Tensor operator()(const Tensor& x, const Tensor& source, const AttentionMask& mask,
                    ForwardContext& context) const;

  void visit(Visitor& v);

 private:
  bool has_query() const { return projections <= Projections::kSharedKeyValue; }
  bool has_key() const { return projections == Projections::kSeparate; }

  int64_t key_heads() const { return num_key_value_heads > 0 ? num_key_value_heads : num_heads; }

  // Throws Error where the heads do not divide the width of the sequences.
  void check(const Tensor& x, const Tensor* source) const;
  KeysAndValues keys_and_values(const Tensor& source) const;  // [B, Tk, K D]
  Tensor queries_of(const Tensor& mapped) const;              // [B, T, H D] -> [B, T, H, D]
  // Rotary: from position `first` on.   [B, T, H, D], [B, T, K D]
  void turn(Tensor& queries, Tensor& keys, int64_t first) const;
  Tensor bias_of_distances(const Tensor& queries, const Tensor& keys,
                           const AttentionMask& mask) const;
  double scale_of(int64_t width) const;  // of the scores of heads that are so wide
  Tensor attend(const Tensor& queries, const KeysAndValues& source, const AttentionMask& mask,
                ForwardContext& context) const;
};

Tensor split_heads(const Tensor& x, int64_t num_heads);  // [B, T, H D] -> [B, T, H, D]
Tensor concat_heads(const Tensor& x);                    // [B, T, H, D] -> [B, T, H D]

}  // namespace qkv
