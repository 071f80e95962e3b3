#include "framework/nn/attention.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/ops/bf16.h"
#include "framework/ops/scaled_dot_product_attention.h"

namespace qkv {
namespace {

Tensor split_heads(const Tensor& x, int64_t num_heads) {  // [B, T, H D] -> [B, T, H, D]
  return reshape(x, {x.dim(0), x.dim(1), num_heads, x.dim(2) / num_heads});
}

Tensor concat_heads(const Tensor& x) {  // [B, T, H, D] -> [B, T, H D]
  return reshape(x, {x.dim(0), x.dim(1), x.dim(2) * x.dim(3)});
}

void check_sequences(int64_t num_heads, const Tensor& x, const Tensor* source) {
  if (num_heads < 1) fail(absl::StrCat("attention: needs at least one head, not ", num_heads));
  const auto fits = [&](const Tensor& t) { return t.rank() == 3 && t.dim(2) % num_heads == 0; };
  if (fits(x) && (!source || fits(*source))) return;
  fail(absl::StrCat("attention: needs x [B, T, C] with C a multiple of ", num_heads, " heads: x ",
                    x.describe(), source ? absl::StrCat(", source ", source->describe()) : ""));
}

}  // namespace

Tensor MultiHeadAttention::operator()(const Tensor& x, const AttentionMask& mask,
                                      ForwardContext& context) const {
  check_sequences(num_heads, x, /*source=*/nullptr);
  const Tensor read = without_padding(x, mask.padding);
  KeysAndValues all = keys_and_values(read);      // [B, T, K D]
  Tensor queries = queries_of(read, all.values);  // [B, T, H, D]
  if (position.is_rotary()) turn(queries, all.keys, context.first_position);
  AttentionMask placed = mask;
  if (context.cache && mask.causal) {
    placed.first_query = context.first_position;
    all = context.cache->extend(Scope::current(), context.first_position, all);
  }
  if (position.is_bias()) placed.relative_bias = bias_of_distances(queries, all.keys, placed);
  return attend(queries, all, placed, context);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& source,
                                      const AttentionMask& mask, ForwardContext& context) const {
  check_sequences(num_heads, x, source.defined() || !context.cache ? &source : nullptr);
  const auto make = [&] {
    if (!source.defined()) fail("attention: there is no source, and the cache has none");
    return keys_and_values(without_padding(source, mask.padding));
  };
  const KeysAndValues all =
      context.cache ? context.cache->source_keys_and_values(Scope::current(), make) : make();
  return attend(split_heads(has_query() ? query(x) : value(x), num_heads), all, mask, context);
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

KeysAndValues MultiHeadAttention::keys_and_values(const Tensor& source) const {
  if (has_key()) return {key(source), value(source)};
  const Tensor both = value(source);
  return {both, both};
}

Tensor MultiHeadAttention::queries_of(const Tensor& x, const Tensor& values) const {
  return split_heads(has_query() ? query(x) : values, num_heads);
}

void MultiHeadAttention::turn(Tensor& queries, Tensor& keys, int64_t first) const {
  queries = position.turned(queries, first);
  keys = concat_heads(position.turned(split_heads(keys, key_heads()), first));
}

Tensor MultiHeadAttention::bias_of_distances(const Tensor& queries, const Tensor& keys,
                                             const AttentionMask& mask) const {
  return position.bias(num_heads, mask.first_query.value_or(0), queries.dim(1), keys.dim(1),
                       computed_dtype(queries.dtype()));
}

double MultiHeadAttention::scale_of(int64_t width) const {
  if (scale) return *scale;
  return scale_scores ? 1.0 / std::sqrt(static_cast<double>(width)) : 1.0;
}

void MultiHeadAttention::visit(Visitor& v) {
  if (has_query()) v.child(query);
  if (has_key()) v.child(key);
  v.child(value);
  v.child(output);
  v.child(position);
}

}  // namespace qkv
