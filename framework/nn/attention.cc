#include "framework/nn/attention.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/ops/bf16.h"
#include "framework/ops/scaled_dot_product_attention.h"

namespace qkv {
namespace {

Tensor split_heads(const Tensor& x, int64_t num_heads) {  // [B, T, C] -> [B, T, H, D]
  return reshape(x, {x.dim(0), x.dim(1), num_heads, x.dim(2) / num_heads});
}

Tensor concat_heads(const Tensor& x) {  // [B, T, H, D] -> [B, T, C]
  return reshape(x, {x.dim(0), x.dim(1), x.dim(2) * x.dim(3)});
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
  const KeysAndValues of_new = keys_and_values(x);
  if (!context.cache) return attend(x, of_new, mask, context);
  AttentionMask placed = mask;
  placed.first_query = context.first_position;
  return attend(x, context.cache->extend(Scope::current(), context.first_position, of_new), placed,
                context);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& source,
                                      const AttentionMask& mask, ForwardContext& context) const {
  check_sequences(num_heads, x, &source);
  const auto make = [&] { return keys_and_values(source); };
  return attend(x, context.cache ? context.cache->of_source(Scope::current(), make) : make(), mask,
                context);
}

KeysAndValues MultiHeadAttention::keys_and_values(const Tensor& source) const {
  return {key(source), value(source)};  // [B, Tk, C]
}

Tensor MultiHeadAttention::attend(const Tensor& x, const KeysAndValues& source,
                                  const AttentionMask& mask, ForwardContext& context) const {
  const Tensor q = split_heads(query(x), num_heads);       // [B, Tq, H, D]
  const Tensor k = split_heads(source.keys, num_heads);    // [B, Tk, H, D]
  const Tensor v = split_heads(source.values, num_heads);  // [B, Tk, H, D]
  context.note("q", q);
  context.note("k", k);
  context.note("v", v);
  AttentionOptions options = {.mask = mask};
  if (scale_scores) options.scale = 1.0 / std::sqrt(static_cast<double>(q.dim(3)));
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
  const Tensor concatenated = concat_heads(heads);  // [B, Tq, C]
  context.note("concatenated", concatenated);
  return output_dropout(output(concatenated), context);  // [B, Tq, C]
}

void MultiHeadAttention::visit(Visitor& v) {
  v.child(query);
  v.child(key);
  v.child(value);
  v.child(output);
}

}  // namespace qkv
