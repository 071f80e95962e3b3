#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/nn/mixers/attention.h"
#include "framework/ops/support/bf16.h"
#include "framework/ops/support/scaled_dot_product_attention.h"

// The parts of attention beside its formula: maps, positions, checks; and attention to a source.
namespace qkv {

namespace {

// In f32, and rounded as the maps of queries and keys are.
template <class Norm>
Tensor normalized(const Norm& norm, const Tensor& x) {
  return cast(norm(widened(x)), x.dtype());
}

}  // namespace

Tensor split_heads(const Tensor& x, int64_t num_heads) {
  return reshape(x, {x.dim(0), x.dim(1), num_heads, x.dim(2) / num_heads});
}

Tensor concat_heads(const Tensor& x) {
  return reshape(x, {x.dim(0), x.dim(1), x.dim(2) * x.dim(3)});
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& source,
                                      const AttentionMask& mask, ForwardContext& context) const {
  check(x, source.defined() || !context.cache ? &source : nullptr);
  const auto make = [&] {
    if (!source.defined()) fail("attention: there is no source, and the cache has none");
    return keys_and_values(without_padding(source, mask.padding));
  };
  const KeysAndValues all =
      context.cache ? context.cache->source_keys_and_values(Scope::current(), make) : make();
  return attend(queries_of(has_query() ? query(x) : value(x)), all, mask, context);
}

void MultiHeadAttention::check(const Tensor& x, const Tensor* source) const {
  if (num_heads < 1) fail(absl::StrCat("attention: needs at least one head, not ", num_heads));
  const auto fits = [&](const Tensor& t) { return t.rank() == 3 && t.dim(2) % num_heads == 0; };
  if (fits(x) && (!source || fits(*source))) return;
  fail(absl::StrCat("attention: needs x [B, T, C] with C a multiple of ", num_heads, " heads: x ",
                    x.describe(), source ? absl::StrCat(", source ", source->describe()) : ""));
}

KeysAndValues MultiHeadAttention::keys_and_values(const Tensor& source) const {
  KeysAndValues all;
  if (has_key()) all.keys = key(source);
  all.values = value(source);
  if (!has_key()) all.keys = all.values;
  if (normalizes) {
    all.keys = concat_heads(normalized(key_norm, split_heads(all.keys, key_heads())));
  }
  return all;
}

Tensor MultiHeadAttention::queries_of(const Tensor& mapped) const {
  const Tensor queries = split_heads(mapped, num_heads);
  return normalizes ? normalized(query_norm, queries) : queries;
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
  if (normalizes) {
    v.child(query_norm);
    v.child(key_norm);
  }
  v.child(position);
}

}  // namespace qkv
