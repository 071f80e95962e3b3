#include "models/stack.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/nn/mixers/position.h"
#include "framework/ops/ops.h"
#include "models/mixer_kind.h"

namespace qkv {
namespace {

// Sinusoids are multiplied by exp(kGainRate g): a step of Adam moves g by about the learning rate.
constexpr double kGainRate = 10;

Norm make_norm(Initializer& init, const ModelOptions& o) {
  if (o.norm_kind == NormKind::kRms) {
    RmsNorm norm(init, o.d_model);
    norm.epsilon = o.norm_epsilon;
    return {norm};
  }
  LayerNorm norm(init, o.d_model, o.bias);
  norm.epsilon = o.norm_epsilon;
  return {norm};
}

Block make_block(Initializer& init, const ModelOptions& o, int64_t max_length, bool causal,
                 bool attends_to_source) {
  const double into_residual_stream =
      static_cast<double>(o.num_layers) * (attends_to_source ? 3.0 : 2.0);
  const bool is_scaled = o.residual_init == ResidualInit::kScaled;
  const double deviation = o.residual_init == ResidualInit::kZero ? 0.0 : o.init_std;
  const double residual_deviation = deviation / (is_scaled ? std::sqrt(into_residual_stream) : 1);
  const int64_t c = o.d_model;
  Block block;
  block.norm_place = o.norm;
  block.mixer_norm = make_norm(init, o);
  block.mixer = make_mixer(init, o, {max_length, causal, residual_deviation});
  if (attends_to_source) {
    block.attends_to_source = true;
    block.cross_attention_norm = make_norm(init, o);
    block.cross_attention = make_attention(init, o, residual_deviation);
  }
  block.feed_forward_norm = make_norm(init, o);
  block.feed_forward =
      FeedForward{.up = Linear(init, c, o.d_ff, o.bias, o.init_std, /*rounds=*/true),
                  .down = Linear(init, o.d_ff, c, o.bias, residual_deviation),
                  .activation = o.activation,
                  .dropout = {o.dropout}};
  if (o.activation == Activation::kSwiglu) {
    block.feed_forward.gate = Linear(init, c, o.d_ff, o.bias, o.init_std, /*rounds=*/true);
  }
  return block;
}

}  // namespace

std::vector<std::string> transformer_keys(const std::vector<std::string>& more) {
  std::vector<std::string> keys = {"num_layers", "d_model",    "mixer",   "d_ff", "position",
                                   "norm",       "activation", "dropout", "bias"};
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
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
    : o_(o),
      max_length_(max_length),
      causal_(role != Role::kEncoder && o.attention.causal),
      dropout_{o.dropout} {
  if (o_.position == Position::kLearned) {
    position_embedding_ = Embedding(init, max_length, o.d_model, o.init_std);
  } else if (o_.position == Position::kSinusoidal) {
    if (init.makes_numbers()) sinusoids_ = sinusoids(max_length, init.dtype());
    if (o.learn_sinusoidal_scale) position_gain_ = init.zeros({1});
  }
  for (int64_t i = 0; i < o.num_layers; ++i) {
    blocks_.push_back(make_block(init, o, max_length, causal_, role == Role::kDecoderOfSource));
  }
  if (o_.norm == NormPlace::kPre) final_norm_ = make_norm(init, o);
}

Tensor Stack::sinusoids(int64_t length, DType dtype) const {
  return scale(sinusoidal_positions(length, o_.d_model, dtype), o_.factor_of_sinusoids());
}

Tensor Stack::positions(int64_t first, int64_t length, DType dtype) const {
  const bool beyond = first + length > max_length_;
  switch (o_.position) {
    case Position::kNone:
    case Position::kRotary:
    case Position::kAlibi:
    case Position::kRelative:
      return Tensor();
    case Position::kSinusoidal: {
      Tensor places =
          slice(beyond ? sinusoids(first + length, dtype) : sinusoids_, 0, first, length);
      if (!position_gain_.defined()) return places;
      return places * exp(scale(position_gain_, kGainRate));
    }
    case Position::kLearned:
      if (beyond) {
        fail(absl::StrCat("transformer: there are learned positions for ", max_length_,
                          " tokens, but not for ", length,
                          first > 0 ? absl::StrCat(" after ", first) : ""));
      }
      return slice(position_embedding_.weight, 0, first, length);
  }
  fail("transformer: unknown Position");
}

Tensor Stack::operator()(const Tensor& embeddings, const Tensor& padding, ForwardContext& context,
                         const AttentionSource* source) const {
  AttentionMask mask = {.causal = causal_, .padding = padding};
  Tensor x = embeddings;  // [B, T, C], the residual stream
  const Tensor places = positions(context.first_position, x.dim(1), x.dtype());
  note("embedded", x);
  if (places.defined()) {
    note("positions", places);
    x = x + places;
  }
  x = dropout_(x, context);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Scope scope(absl::StrCat("blocks.", i));
    const int64_t window = o_.attention.window_of(static_cast<int64_t>(i));
    mask.window = window > 0 ? window + 1 : 0;
    x = blocks_[i](x, mask, context, source);
  }
  if (o_.norm == NormPlace::kPre) x = final_norm_(x);
  note("output", x);
  return x;
}

void Stack::visit(Visitor& v) {
  v.child(position_embedding_);
  if (position_gain_.defined()) v.parameter("position_gain", position_gain_);
  for (size_t i = 0; i < blocks_.size(); ++i) v.child(absl::StrCat("blocks.", i), blocks_[i]);
  if (o_.norm == NormPlace::kPre) v.child(final_norm_);
}

TokenMaps::TokenMaps(Initializer& init, const ModelOptions& o, int64_t vocabulary_size)
    : token_embedding_(init, vocabulary_size, o.d_model, o.init_std),
      tied_(o.tie_embeddings),
      cap_(o.logit_cap) {}

void TokenMaps::make_head(Initializer& init, const ModelOptions& o) {
  head_.rounded_weight = make_rounded_weight(init);
  if (!tied_) head_.weight = init.normal(token_embedding_.weight.shape(), o.init_std);
}

Tensor TokenMaps::embed(const Tensor& tokens) const { return token_embedding_(tokens); }

Tensor TokenMaps::logits(const Tensor& x) const {
  const Tensor z = head_(x, tied_ ? token_embedding_.weight : head_.weight);
  return cap_ == 0 ? z : scale(tanh(scale(z, 1 / cap_)), cap_);
}

}  // namespace qkv
