#include "framework/nn/mixers/attention.h"

#include "framework/core/error.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

namespace qkv {

Tensor MultiHeadAttention::operator()(const Tensor& x, const AttentionMask& mask,
                                      ForwardContext& context) const {
  check(x, /*source=*/nullptr);
  const Tensor read = without_padding(x, mask.padding);
  KeysAndValues all = keys_and_values(read);                            // [B, T, K D]
  Tensor queries = queries_of(has_query() ? query(read) : all.values);  // [B, T, H, D]
  if (position.is_rotary()) turn(queries, all.keys, context.first_position);
  AttentionMask placed = mask;
  if (context.cache && mask.causal) {
    placed.first_query = context.first_position;
    all = context.cache->extend(Scope::current(), context.first_position, all);
  }
  if (position.is_bias()) placed.relative_bias = bias_of_distances(queries, all.keys, placed);
  return attend(queries, all, placed, context);
}

Tensor MultiHeadAttention::attend(const Tensor& queries, const KeysAndValues& source,
                                  const AttentionMask& mask, ForwardContext& context) const {
  const Tensor keys = split_heads(source.keys, key_heads());      // [B, Tk, K, D]
  const Tensor values = split_heads(source.values, key_heads());  // [B, Tk, K, D]
  AttentionOptions options = {.mask = mask, .scale = scale_of(queries.dim(3))};
  if (weight_dropout.is_active(context)) {
    options.dropout = weight_dropout.p;
    options.stream = context.next_stream();
  }
  const Tensor heads = attention(queries, keys, values, options);          // [B, Tq, H, D]
  const Tensor concatenated = noted("concatenated", concat_heads(heads));  // [B, Tq, H D]
  return output_dropout(output(concatenated), context);                    // [B, Tq, C]
}

}  // namespace qkv
