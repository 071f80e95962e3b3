#pragma once

#include <variant>
#include <vector>

#include "framework/nn/attention.h"
#include "framework/nn/embedding.h"
#include "framework/nn/feed_forward.h"
#include "framework/nn/norm.h"
#include "models/options.h"

namespace qkv {

// Layer norm or RMS norm, as the options say.
struct Norm {
  std::variant<LayerNorm, RmsNorm> kind;

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v) const;
};

// One layer, x [B, T, C] -> [B, T, C]:
//   pre-norm    x = x + attention(norm(x));  x = x + feed_forward(norm(x))   Xiong et al. 2020
//   post-norm   x = norm(x + attention(x));  x = norm(x + feed_forward(x))   Vaswani et al. 2017
struct Block {
  Norm attention_norm, feed_forward_norm;
  MultiHeadAttention attention;
  FeedForward feed_forward;
  bool pre_norm = true;

  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& v) const;
};

// The decoder-only transformer: each position predicts the token after it, from itself and those
// before. Initialized as GPT-2: normal with deviation 0.02, the projections back into the residual
// stream divided by sqrt(2 num_layers), biases 0 (Radford et al. 2019).
class Transformer {
 public:
  // Throws Error on options that do not fit each other.
  Transformer(const ModelOptions& options, int64_t vocabulary_size, int64_t max_length,
              Initializer init);

  // tokens i64 [B, T], T at most max_length -> logits [B, T, V]
  // With a key/value cache in the context, they follow the tokens that are in it, which count for
  // T.
  Tensor operator()(const Tensor& tokens, ForwardContext& context) const;

  void visit(Visitor& v) const;
  int64_t max_length() const { return max_length_; }
  int64_t vocabulary_size() const { return token_embedding_.weight.dim(0); }

 private:
  // The tokens of positions first, first + 1 …   [B, T] -> [B, T, C]
  Tensor embed(const Tensor& tokens, int64_t first, ForwardContext& context) const;

  int64_t max_length_;
  Embedding token_embedding_;     // [V, C]
  Embedding position_embedding_;  // [max_length, C]; undefined unless learned
  Tensor sinusoids_;              // [max_length, C]; undefined unless sinusoidal
  std::vector<Block> blocks_;
  Norm final_norm_;  // of pre-norm, whose residual stream is not normalized
  Linear head_;      // C -> V; without a weight when the token embedding's is used in its place
  bool pre_norm_, tied_;
  Dropout dropout_;
};

}  // namespace qkv
