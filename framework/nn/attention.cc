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

// Each head `times` times, one after the other.   [B, T, K, D] -> [B, T, K times, D]
Tensor repeat_heads(const Tensor& x, int64_t times) {
  if (times == 1) return x;
  const int64_t b = x.dim(0), t = x.dim(1), k = x.dim(2), d = x.dim(3);
  return reshape(broadcast_to(reshape(x, {b, t, k, 1, d}), {b, t, k, times, d}),
                 {b, t, k * times, d});
}

Tensor swapped(const Tensor& x) { return transpose(x, 1, 2); }  // [B, T, H, D] <-> [B, H, T, D]

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
  const int64_t first = context.first_position;
  const Tensor read = without_padding(x, mask.padding);
  KeysAndValues all = keys_and_values(read);
  Tensor queries = split_heads(has_query() ? query(read) : all.values, num_heads);  // [B, T, H, D]
  if (position.is_rotary()) {
    queries = position.turned(queries, first);
    const int64_t key_heads = num_key_value_heads > 0 ? num_key_value_heads : num_heads;
    all.keys = concat_heads(position.turned(split_heads(all.keys, key_heads), first));
  }
  AttentionMask placed = mask;
  if (context.cache && mask.causal) {
    placed.first_query = first;
    all = context.cache->extend(Scope::current(), first, all);
  }
  if (position.is_bias()) {
    const int64_t first_query = placed.first_query.value_or(0);
    placed.relative_bias = position.bias(num_heads, first_query, x.dim(1), all.keys.dim(1),
                                         computed_dtype(queries.dtype()));
  }
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

KeysAndValues MultiHeadAttention::keys_and_values(const Tensor& source) const {
  if (has_key()) return {key(source), value(source)};  // [B, Tk, K D]
  const Tensor both = value(source);
  return {both, both};
}

Tensor MultiHeadAttention::attend(const Tensor& queries, const KeysAndValues& source,
                                  const AttentionMask& mask, ForwardContext& context) const {
  const int64_t key_heads = num_key_value_heads > 0 ? num_key_value_heads : num_heads;
  const auto for_all_heads = [&](const Tensor& x) {
    return repeat_heads(split_heads(x, key_heads), num_heads / key_heads);
  };
  const Tensor& q = queries;                      // [B, Tq, H, D]
  const Tensor k = for_all_heads(source.keys);    // [B, Tk, H, D]
  const Tensor v = for_all_heads(source.values);  // [B, Tk, H, D]
  context.note("q", q);
  context.note("k", k);
  context.note("v", v);
  AttentionOptions options = {.mask = mask};
  if (scale_scores) options.scale = 1.0 / std::sqrt(static_cast<double>(q.dim(3)));
  if (scale) options.scale = *scale;
  if (weight_dropout.is_active(context)) {
    options.dropout = weight_dropout.p;
    options.stream = context.next_stream();
  }
  Tensor heads;  // [B, Tq, H, D]
  if (context.trace) {
    const auto operand = [](const Tensor& t) { return widened(swapped(t)); };
    const auto note = [&](std::string_view name, const Tensor& t) { context.note(name, t); };
    heads =
        swapped(scaled_dot_product_attention(operand(q), operand(k), operand(v), options, note));
  } else {  // the same, with no need to hold all the weights at once
    heads = attention(q, k, v, options);
  }
  const Tensor concatenated = concat_heads(heads);  // [B, Tq, H D]
  context.note("concatenated", concatenated);
  return output_dropout(output(concatenated), context);  // [B, Tq, C]
}

void MultiHeadAttention::visit(Visitor& v) {
  if (has_query()) v.child(query);
  if (has_key()) v.child(key);
  v.child(value);
  v.child(output);
  v.child(position);
}

}  // namespace qkv
