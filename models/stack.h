#pragma once

#include <string>
#include <vector>

#include "framework/nn/block.h"
#include "framework/nn/forward_context.h"
#include "framework/nn/layers.h"
#include "models/model_options.h"

namespace qkv {

// The options that every transformer reads, and `more`, without those of its mixer and its position
// encoding.
std::vector<std::string> transformer_keys(const std::vector<std::string>& more);

void check_tokens(const char* model, const char* what, const Tensor& tokens);  // i64 [B, T]

Tensor last_of(const Tensor& logits);  // [B, T, V] -> [B, V], of the last token

// The common part of encoders and decoders: the position encoding, and the blocks one after the
// other. Initialized as GPT-2: normal with standard deviation init_std, divided by the root of
// their number for projections into the residual stream; biases 0 (Radford et al. 2019).
class Stack {
 public:
  // An encoder has no causal mask, a decoder may have one. A decoder of a source has
  // cross-attention to it in every block.
  enum class Role { kEncoder, kDecoder, kDecoderOfSource };
  // max_length limits the sequences of a stack whose positions or mixer are in a table.
  // Throws Error on options that do not fit each other.
  Stack(Initializer& init, const ModelOptions& options, Role role, int64_t max_length);

  // x: the embeddings of tokens from the context's first position on; `padding`, where it is
  // defined, is true where there is no token.
  //   x [B, T, C], padding boolean [B, T] -> [B, T, C]
  Tensor operator()(const Tensor& x, const Tensor& padding, ForwardContext& context,
                    const AttentionSource* source = nullptr) const;
  void visit(Visitor& v);

 private:
  Tensor sinusoids(int64_t length, DType dtype) const;                 // [length, C]
  Tensor positions(int64_t first, int64_t length, DType dtype) const;  // [T, C], or undefined

  ModelOptions o_;
  int64_t max_length_;
  bool causal_;
  Child<"position_embedding", Embedding> position_embedding_;  // [max_length, C], or undefined
  Tensor sinusoids_;                                           // [max_length, C], or undefined
  Tensor position_gain_;                                       // [1], where it is learned
  std::vector<Block> blocks_;
  Child<"final_norm", Norm> final_norm_;  // of pre-norm, whose residual stream is not normalized
  Dropout dropout_;
};

// A vector for each token of the vocabulary, and the logits of each from a vector.
class TokenMaps {
 public:
  TokenMaps(Initializer& init, const ModelOptions& options, int64_t vocabulary_size);

  // The head comes last among the parameters of a model, as it is made last.
  void make_head(Initializer& init, const ModelOptions& o);

  Tensor embed(const Tensor& tokens) const;  // i64 [B, T] -> [B, T, C]
  // The cap: Gemma Team, "Gemma 2", 2024.
  Tensor logits(const Tensor& x) const;  // [B, T, C] -> [B, T, V]
  void visit_embedding(Visitor& v) { v.child(token_embedding_); }
  void visit_head(Visitor& v) { v.child(head_); }

 private:
  Child<"token_embedding", Embedding> token_embedding_;  // [V, C]
  bool tied_;
  double cap_;
  Child<"head", Linear> head_;  // C -> V; without a weight: the token embedding's is used
};

}  // namespace qkv
