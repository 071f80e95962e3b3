#include "models/decoder.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "framework/core/error.h"
#include "framework/graph/op.h"
#include "framework/nn/key_value_cache.h"
#include "framework/nn/position.h"
#include "framework/ops/ops.h"
#include "models/mixer.h"

namespace qkv {
namespace {

constexpr double kDeviation = 0.02;

Norm make_norm(Initializer& init, const ModelOptions& o) {
  if (o.norm_kind == NormKind::kRms) return {RmsNorm(init, o.d_model)};
  return {LayerNorm(init, o.d_model, o.bias)};
}

Block make_block(Initializer& init, const ModelOptions& o, int64_t max_length) {
  const double residual_deviation = kDeviation / std::sqrt(2.0 * static_cast<double>(o.num_layers));
  const int64_t c = o.d_model;
  Block block;
  block.pre_norm = o.norm == NormPlace::kPre;
  block.mixer_norm = make_norm(init, o);
  block.mixer = make_mixer(init, o, max_length, /*causal=*/true);
  block.feed_forward_norm = make_norm(init, o);
  block.feed_forward =
      FeedForward{.up = Linear(init, c, o.d_ff, o.bias, kDeviation, /*rounds=*/true),
                  .down = Linear(init, o.d_ff, c, o.bias, residual_deviation),
                  .activation = o.activation,
                  .dropout = {o.dropout}};
  return block;
}

}  // namespace

std::vector<std::string> Decoder::keys() {
  return {"num_layers", "d_model",    "mixer",   "d_ff",           "position", "norm",
          "norm_kind",  "activation", "dropout", "tie_embeddings", "bias"};
}

Decoder::Decoder(const ModelOptions& o, const DataShape& data, Initializer init)
    : data_(data),
      token_embedding_(init, data.vocabulary_size, o.d_model, kDeviation),
      pre_norm_(o.norm == NormPlace::kPre),
      tied_(o.tie_embeddings),
      dropout_{o.dropout} {
  if (o.position == Position::kLearned) {
    position_embedding_ = Embedding(init, data.max_length, o.d_model, kDeviation);
  } else if (o.position == Position::kSinusoidal && init.makes_numbers()) {
    sinusoids_ = sinusoidal_positions(data.max_length, o.d_model, init.dtype());
  }
  for (int64_t i = 0; i < o.num_layers; ++i)
    blocks_.push_back(make_block(init, o, data.max_length));
  if (pre_norm_) final_norm_ = make_norm(init, o);
  head_.rounded_weight = make_rounded_weight(init);
  if (!tied_) head_.weight = init.normal({data.vocabulary_size, o.d_model}, kDeviation);
}

Tensor Decoder::embed(const Tensor& tokens, int64_t first, ForwardContext& context) const {
  Tensor x = token_embedding_(tokens);  // [B, T, C]
  const Tensor& positions = sinusoids_.defined() ? sinusoids_ : position_embedding_.weight;
  if (positions.defined()) x = x + slice(positions, 0, first, tokens.dim(1));
  return dropout_(x, context);
}

Tensor Decoder::operator()(const Tensor& tokens, ForwardContext& context) const {
  const int64_t first = context.first_position;
  if (tokens.rank() != 2 || first + tokens.dim(1) > data_.max_length) {
    fail(absl::StrCat("transformer: needs tokens [B, T] with T at most ", data_.max_length,
                      ": tokens ", tokens.describe(),
                      first > 0 ? absl::StrCat(" after ", first) : ""));
  }
  Tensor x = embed(tokens, first, context);  // [B, T, C], the residual stream
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Scope scope(absl::StrCat("blocks.", i));
    x = blocks_[i](x, {.causal = true, .padding = Tensor()}, context);
  }
  if (pre_norm_) x = final_norm_(x);
  return head_(x, tied_ ? token_embedding_.weight : head_.weight);  // [B, T, V]
}

Tensor Decoder::operator()(std::span<const Tensor> inputs, ForwardContext& context) const {
  if (inputs.size() != 1) {
    fail(absl::StrCat("transformer: needs one input, tokens [B, T], not ", inputs.size()));
  }
  return (*this)(inputs[0], context);
}

Tensor Decoder::next_logits(std::span<const int64_t> tokens, KeyValueCache* cache) const {
  const NoGrad no_grad;
  const int64_t left_behind = std::ssize(tokens) - data_.max_length;  // by the window
  ForwardContext context;
  if (left_behind <= 0) context.cache = cache;
  const int64_t first = context.cache ? cache->length() : std::max<int64_t>(0, left_behind);
  if (context.cache) context.first_position = first;
  const std::span<const int64_t> unread = tokens.subspan(static_cast<size_t>(first));
  const int64_t length = std::ssize(unread);
  const Tensor logits = (*this)(Tensor(Array::of({1, length}, unread)), context);  // [1, T, V]
  return reshape(slice(logits, 1, length - 1, 1), {data_.vocabulary_size});
}

void Decoder::visit(Visitor& v) {
  v.child(token_embedding_);
  v.child(position_embedding_);
  for (size_t i = 0; i < blocks_.size(); ++i) v.child(absl::StrCat("blocks.", i), blocks_[i]);
  if (pre_norm_) v.child(final_norm_);
  v.child(head_);
}

}  // namespace qkv
