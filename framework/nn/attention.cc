#include "framework/nn/attention.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/nn/key_value_cache.h"
#include "framework/ops/bf16.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

Tensor split_heads(const Tensor& x, int64_t num_heads) {  // [B, T, C] -> [B, T, H, D]
  return reshape(x, {x.dim(0), x.dim(1), num_heads, x.dim(2) / num_heads});
}

Tensor concat_heads(const Tensor& x) {  // [B, T, H, D] -> [B, T, C]
  return reshape(x, {x.dim(0), x.dim(1), x.dim(2) * x.dim(3)});
}

Tensor swapped(const Tensor& x) { return transpose(x, 1, 2); }  // [B, T, H, D] <-> [B, H, T, D]

Tensor hide(const Tensor& scores, const AttentionMask& mask) {  // [B, H, Tq, Tk]
  Tensor result = scores;
  if (mask.causal) {
    result = masked_fill(result, causal_mask(scores.dim(2), scores.dim(3)), kHidden);
  }
  if (mask.padding.defined()) {
    result =
        masked_fill(result, reshape(mask.padding, {scores.dim(0), 1, 1, scores.dim(3)}), kHidden);
  }
  return result;
}

}  // namespace

Tensor causal_mask(int64_t query_length, int64_t key_length) {
  Array mask(Shape({query_length, key_length}, "causal_mask"), DType::boolean);
  if (mask.size() == 0) return Tensor(mask);
  bool* hidden = mask.mutable_data<bool>();
  for (int64_t i = 0; i < query_length; ++i) {
    for (int64_t j = 0; j < key_length; ++j) *hidden++ = j > i + key_length - query_length;
  }
  return Tensor(mask);
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionMask& mask, bool scale_scores,
                                    const Dropout& dropout, ForwardContext& context) {
  Tensor scores = matmul(query, key, {.transpose_b = true});  // [B, H, Tq, Tk]
  const double d_k = static_cast<double>(query.dim(-1));
  if (scale_scores) scores = scores / std::sqrt(d_k);
  context.note("scores", scores);
  const Tensor masked = hide(scores, mask);
  context.note("masked_scores", masked);
  const Tensor weights = softmax(masked);  // [B, H, Tq, Tk], rows sum to 1
  context.note("weights", weights);
  const Tensor dropped = dropout(weights, context);
  if (dropout.is_active(context)) context.note("dropped_weights", dropped);
  Tensor heads = matmul(dropped, value);  // [B, H, Tq, D]
  context.note("heads", heads);
  return heads;
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const AttentionMask& mask,
                                      ForwardContext& context) const {
  return (*this)(x, x, mask, context);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& source,
                                      const AttentionMask& mask, ForwardContext& context) const {
  if (num_heads < 1) fail(absl::StrCat("attention: needs at least one head, not ", num_heads));
  for (const Tensor* sequence : {&x, &source}) {
    if (sequence->rank() == 3 && sequence->dim(2) % num_heads == 0) continue;
    fail(absl::StrCat("attention: needs x [B, T, C] with C a multiple of ", num_heads, " heads: x ",
                      x.describe(),
                      &x == &source ? "" : absl::StrCat(", source ", source.describe())));
  }
  // Rounded to bf16 once, where products are, and not by each of the layers.
  const Tensor of_keys = key.operand(source);
  const Tensor of_queries = &x == &source ? of_keys : query.operand(x);
  Tensor keys = key(of_keys), values = value(of_keys);  // [B, Tk, C]
  if (context.cache) context.cache->extend(context.layers_cached++, keys, values);
  const Tensor q = split_heads(query(of_queries), num_heads);  // [B, Tq, H, D]
  const Tensor k = split_heads(keys, num_heads);               // [B, Tk, H, D]
  const Tensor v = split_heads(values, num_heads);             // [B, Tk, H, D]
  context.note("q", q);
  context.note("k", k);
  context.note("v", v);
  Tensor heads;  // [B, Tq, H, D]
  if (context.trace || weight_dropout.is_active(context)) {
    const auto operand = [](const Tensor& t) { return widened(swapped(t)); };
    heads = swapped(scaled_dot_product_attention(operand(q), operand(k), operand(v), mask,
                                                 scale_scores, weight_dropout, context));
  } else {  // the same, with no need to hold all the weights at once
    const double scale = scale_scores ? 1.0 / std::sqrt(static_cast<double>(q.dim(3))) : 1.0;
    heads = attention(q, k, v, {.causal = mask.causal, .padding = mask.padding, .scale = scale});
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
