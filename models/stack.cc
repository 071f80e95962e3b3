#include "models/stack.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/nn/position.h"
#include "framework/ops/ops.h"

namespace qkv {
namespace {

constexpr double kDeviation = 0.02;

Norm make_norm(Initializer& init, const ModelOptions& o) {
  if (o.norm_kind == NormKind::kRms) return {RmsNorm(init, o.d_model)};
  return {LayerNorm(init, o.d_model, o.bias)};
}

// A map from C numbers to those of `heads` heads, or with `back` from them; num_heads of them are
// of queries.
Projection make_projection(Initializer& init, const ModelOptions& o, int64_t heads,
                           double deviation, bool back = false) {
  const int64_t c = o.d_model;
  const AttentionChoices& a = o.attention;
  if (a.projections == Projections::kNone) return Identity();
  if (a.heads == Heads::kNarrow && !back) {
    return PartsLinear(init, heads, c, o.bias, deviation);
  }
  const int64_t width = a.heads == Heads::kWide ? c : c / o.num_heads;  // D
  if (back) return Linear(init, heads * width, c, o.bias, deviation);
  return Linear(init, c, heads * width, o.bias, deviation, /*rounds=*/true);
}

// `residual_deviation` is that of the projections back into the residual stream. A `position` of
// none that attention sees to changes nothing.
MultiHeadAttention make_attention(Initializer& init, const ModelOptions& o,
                                  double residual_deviation, AttentionPosition position) {
  const AttentionChoices& a = o.attention;
  const int64_t key_heads = a.num_key_value_heads > 0 ? a.num_key_value_heads : o.num_heads;
  MultiHeadAttention attention;
  attention.projections = a.projections;
  if (a.projections == Projections::kSeparate || a.projections == Projections::kSharedKeyValue) {
    attention.query = make_projection(init, o, o.num_heads, kDeviation);
  }
  if (a.projections == Projections::kSeparate) {
    attention.key = make_projection(init, o, key_heads, kDeviation);
  }
  attention.value = make_projection(init, o, key_heads, kDeviation);
  attention.output = make_projection(init, o, o.num_heads, residual_deviation, /*back=*/true);
  attention.num_heads = o.num_heads;
  attention.num_key_value_heads = key_heads;
  attention.scale_scores = o.scale_scores;
  if (a.scale != 0) attention.scale = a.scale;
  attention.position = std::move(position);
  attention.weight_dropout = attention.output_dropout = {o.dropout};
  return attention;
}

Block make_block(Initializer& init, const ModelOptions& o, int64_t max_length, bool causal,
                 bool attends_to_source) {
  const double into_residual_stream =
      static_cast<double>(o.num_layers) * (attends_to_source ? 3.0 : 2.0);
  const double residual_deviation = kDeviation / std::sqrt(into_residual_stream);
  const int64_t c = o.d_model;
  Block block;
  block.pre_norm = o.norm == NormPlace::kPre;
  block.attention_norm = make_norm(init, o);
  block.attention = make_attention(
      init, o, residual_deviation,
      AttentionPosition(init, o.position, o.num_heads, max_length, /*both_sides=*/!causal));
  if (attends_to_source) {
    block.attends_to_source = true;
    block.cross_attention_norm = make_norm(init, o);
    block.cross_attention = make_attention(init, o, residual_deviation, {});
  }
  block.feed_forward_norm = make_norm(init, o);
  block.feed_forward =
      FeedForward{.up = Linear(init, c, o.d_ff, o.bias, kDeviation, /*rounds=*/true),
                  .down = Linear(init, o.d_ff, c, o.bias, residual_deviation),
                  .activation = o.activation,
                  .dropout = {o.dropout}};
  return block;
}

void check_heads(const ModelOptions& o) {
  if (o.num_heads < 1 || o.d_model % o.num_heads != 0) {
    fail(absl::StrCat("transformer: num_heads ", o.num_heads, " does not divide d_model ",
                      o.d_model));
  }
  const int64_t key_heads = o.attention.num_key_value_heads;
  if (key_heads > 0 && o.num_heads % key_heads != 0) {
    fail(absl::StrCat("transformer: num_key_value_heads ", key_heads, " does not divide num_heads ",
                      o.num_heads));
  }
}

}  // namespace

std::vector<std::string> transformer_keys() {
  return {"num_layers",       "d_model",        "num_heads", "d_ff",       "position",
          "sinusoidal_scale", "norm",           "norm_kind", "activation", "dropout",
          "scale_scores",     "tie_embeddings", "bias"};
}

void check_tokens(const char* model, const char* what, const Tensor& tokens) {
  if (tokens.rank() == 2) return;
  fail(absl::StrCat(model, ": needs ", what, " [B, T]: ", what, " ", tokens.describe()));
}

Tensor last_of(const Tensor& logits) {
  const int64_t length = logits.dim(1);
  return reshape(slice(logits, 1, length - 1, 1), {logits.dim(0), logits.dim(2)});
}

Stack::Stack(Initializer& init, const ModelOptions& o, Role role, int64_t max_length)
    : d_model_(o.d_model),
      max_length_(max_length),
      causal_(role != Role::kEncoder && o.attention.causal),
      window_(o.attention.window),
      position_(o.position),
      sinusoidal_scale_(o.sinusoidal_scale),
      pre_norm_(o.norm == NormPlace::kPre),
      dropout_{o.dropout} {
  check_heads(o);
  if (position_ == Position::kLearned) {
    position_embedding_ = Embedding(init, max_length, o.d_model, kDeviation);
  } else if (position_ == Position::kSinusoidal && init.makes_numbers()) {
    sinusoids_ = sinusoids(max_length, init.dtype());
  }
  for (int64_t i = 0; i < o.num_layers; ++i) {
    blocks_.push_back(make_block(init, o, max_length, causal_, role == Role::kDecoderOfSource));
  }
  if (pre_norm_) final_norm_ = make_norm(init, o);
}

Tensor Stack::sinusoids(int64_t length, DType dtype) const {
  return scale(sinusoidal_positions(length, d_model_, dtype), sinusoidal_scale_);
}

Tensor Stack::positions(int64_t first, int64_t length, DType dtype) const {
  const bool beyond = first + length > max_length_;
  switch (position_) {
    case Position::kNone:
    case Position::kRotary:
    case Position::kAlibi:
    case Position::kRelative:
      return Tensor();
    case Position::kSinusoidal:
      return slice(beyond ? sinusoids(first + length, dtype) : sinusoids_, 0, first, length);
    case Position::kLearned:
      if (beyond) {
        fail(absl::StrCat("transformer: there are learned positions for ", max_length_,
                          " tokens, and none for ", length,
                          first > 0 ? absl::StrCat(" after ", first) : ""));
      }
      return slice(position_embedding_.weight, 0, first, length);
  }
  fail("transformer: there is no such position");
}

Tensor Stack::operator()(const Tensor& embeddings, const Tensor& padding, ForwardContext& context,
                         const AttentionSource* source) const {
  const AttentionMask mask = {
      .causal = causal_, .window = window_ > 0 ? window_ + 1 : 0, .padding = padding};
  Tensor x = embeddings;  // [B, T, C], the residual stream
  const Tensor places = positions(context.first_position, x.dim(1), x.dtype());
  if (places.defined()) x = x + places;
  x = dropout_(x, context);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Scope scope(absl::StrCat("blocks.", i));
    x = blocks_[i](x, mask, context, source);
  }
  return pre_norm_ ? final_norm_(x) : x;
}

void Stack::visit(Visitor& v) {
  v.child(position_embedding_);
  for (size_t i = 0; i < blocks_.size(); ++i) v.child(absl::StrCat("blocks.", i), blocks_[i]);
  if (pre_norm_) v.child(final_norm_);
}

TokenMaps::TokenMaps(Initializer& init, const ModelOptions& o, int64_t vocabulary_size)
    : token_embedding_(init, vocabulary_size, o.d_model, kDeviation), tied_(o.tie_embeddings) {}

void TokenMaps::make_head(Initializer& init) {
  head_.rounded_weight = make_rounded_weight(init);
  if (!tied_) head_.weight = init.normal(token_embedding_.weight.shape(), kDeviation);
}

Tensor TokenMaps::embed(const Tensor& tokens) const { return token_embedding_(tokens); }

Tensor TokenMaps::logits(const Tensor& x) const {
  return head_(x, tied_ ? token_embedding_.weight : head_.weight);
}

}  // namespace qkv
