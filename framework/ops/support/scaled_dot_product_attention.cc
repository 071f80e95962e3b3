#include "framework/ops/support/scaled_dot_product_attention.h"

#include <limits>

#include "framework/graph/middleware.h"
#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

constexpr double kMaskedScore = -std::numeric_limits<double>::infinity();

// Which number of a relative bias each pair takes: [H, Tq Tk].
Tensor distance_numbers(int64_t heads, int64_t queries, int64_t keys) {
  Array numbers(Shape({heads, queries * keys}, "attention"), DType::i64);
  int64_t* out = numbers.mutable_data<int64_t>();
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t i = 0; i < queries; ++i) {
      for (int64_t j = 0; j < keys; ++j) *out++ = i - j + keys - 1;
    }
  }
  return Tensor(numbers);
}

}  // namespace

Tensor bias_of_pairs(const Tensor& relative_bias, int64_t queries, int64_t keys) {
  const int64_t heads = relative_bias.dim(0);
  return reshape(gather(relative_bias, 1, distance_numbers(heads, queries, keys)),
                 {heads, queries, keys});
}

Tensor sum_of_distances(const Tensor& pairs) {
  const int64_t heads = pairs.dim(0), queries = pairs.dim(1), keys = pairs.dim(2);
  return scatter_add(reshape(pairs, {heads, queries * keys}), 1,
                     distance_numbers(heads, queries, keys), distance_count(queries, keys));
}

Tensor masked_scores(const Tensor& query, const Tensor& key, const AttentionOptions& options) {
  const AttentionMask& mask = options.mask;
  Tensor scores =
      scale(masked_matmul(query, key, {.transpose_b = true}, ZerosWin::kInBackward), options.scale);
  Tensor bias = mask.bias;
  if (mask.relative_bias.defined()) {
    bias = bias_of_pairs(mask.relative_bias, query.dim(2), key.dim(2));
  }
  if (bias.defined()) scores = scores + bias;
  note("scores", scores);
  Tensor masked = scores;
  if (mask.causal || mask.window > 0 || mask.padding.defined()) {
    const Tensor hidden = hidden_keys(mask, query.dim(2), key.dim(2));
    masked = masked_fill(scores, hidden, kMaskedScore);
  }
  // A bias of -inf hides a key, too, whose score may be NaN.
  if (bias.defined() && !kernels::all_finite(bias.array())) {
    masked = masked_fill(masked, is_at_most(bias, kMaskedScore), kMaskedScore);
  }
  return noted("masked_scores", masked);
}

Tensor attention_weights(const Tensor& query, const Tensor& key, const AttentionOptions& options) {
  return noted("weights", softmax(masked_scores(query, key, options)));
}

Tensor scaled_dot_product_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const AttentionOptions& options) {
  Tensor weights = attention_weights(query, key, options);
  if (options.dropout > 0) {
    weights = noted("dropped_weights", dropout(weights, options.dropout, options.stream));
  }
  return noted("heads", masked_matmul(weights, value));
}

Tensor repeated_heads(const Tensor& x, int64_t heads) {
  const int64_t b = x.dim(0), t = x.dim(1), k = x.dim(2), d = x.dim(3);
  if (k == heads) return x;
  const Tensor apart = reshape(x, {b, t, k, 1, d});
  return reshape(broadcast_to(apart, {b, t, k, heads / k, d}), {b, t, heads, d});
}

Tensor sum_of_repeated_heads(const Tensor& x, int64_t shared) {
  const int64_t b = x.dim(0), t = x.dim(1), h = x.dim(2), d = x.dim(3);
  if (h == shared) return x;
  const Tensor apart = reshape(x, {b, t, shared, h / shared, d});
  return reshape(cast(sum_to(apart, {b, t, shared, 1, d}), x.dtype()), {b, t, shared, d});
}

Tensor without_padding(const Tensor& x, const Tensor& padding) {
  if (!padding.defined() || kernels::all_finite(x.array())) return x;
  const Tensor last = slice(padding, 1, padding.dim(1) - x.dim(1), x.dim(1));
  return masked_fill(x, reshape(last, {x.dim(0), x.dim(1), 1}), 0.0);
}

Tensor is_at_most(const Tensor& x, double limit) {
  Array mask(x.shape(), DType::boolean);
  kernels::compare(kernels::Comparison::less_equal, x.array(),
                   Array::full(x.shape(), x.dtype(), limit), mask);
  return Tensor(mask);
}

kernels::KeyRule key_rule(const AttentionMask& mask, int64_t queries, int64_t keys) {
  const int64_t first = mask.first_query.value_or(keys - queries);
  if (mask.window < 0) {
    fail(absl::StrCat("attention: the window must be 0 (none) or more, not ", mask.window));
  }
  if (mask.first_query && (first < 0 || first > keys)) {
    fail(absl::StrCat("attention: the first of ", queries, " queries is at position ", first,
                      "; it must be from 0 to ", keys));
  }
  // No query and key are further apart.
  return {mask.causal, std::min(mask.window, queries + keys), first};
}

Tensor hidden_keys(const AttentionMask& mask, int64_t queries, int64_t keys) {
  const bool* padding = mask.padding.defined() ? mask.padding.array().data<bool>() : nullptr;
  Array result(Shape({padding ? mask.padding.dim(0) : 1, 1, queries, keys}, "hidden_keys"),
               DType::boolean);
  if (result.size() == 0) return Tensor(result);
  const kernels::KeyRule rule = key_rule(mask, queries, keys);
  bool* hidden = result.mutable_data<bool>();
  for (int64_t b = 0; b < result.shape()[0]; ++b) {
    for (int64_t i = 0; i < queries; ++i) {
      const kernels::KeyRange seen = rule.of(i, keys);
      for (int64_t j = 0; j < keys; ++j) {
        *hidden++ = j < seen.first || j >= seen.last || (padding && padding[b * keys + j]);
      }
    }
  }
  return Tensor(result);
}

}  // namespace qkv
