#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/nn/block.h"
#include "framework/nn/data_shape.h"
#include "framework/nn/embedding.h"
#include "models/options.h"

namespace qkv {

// The decoder-only transformer: each position predicts the token after it, from itself and those
// before. Initialized as GPT-2: normal with deviation 0.02, the projections back into the residual
// stream divided by sqrt(2 num_layers), biases 0 (Radford et al. 2019).
class Decoder {
 public:
  static constexpr const char* kName = "decoder";
  static std::vector<std::string> keys();  // of the options that it reads, but those of a mixer

  // Throws Error on options that do not fit each other.
  Decoder(const ModelOptions& options, const DataShape& data, Initializer init);

  // tokens i64 [B, T], T at most max_length -> logits [B, T, V]
  // They stand at the context's first position and after it, and what is before them counts for T:
  // with a key/value cache, the tokens that are in it.
  Tensor operator()(const Tensor& tokens, ForwardContext& context) const;
  // The inputs of a batch: tokens alone.
  Tensor operator()(std::span<const Tensor> inputs, ForwardContext& context) const;

  // The logits [V] of the token after `tokens`, of which there must be one; the last max_length of
  // them are read. A `cache`, where given, holds what was read of the first of them, and then of
  // all. Beyond max_length every token moves to another position, so that nothing of it can be
  // used.
  Tensor next_logits(std::span<const int64_t> tokens, KeyValueCache* cache) const;

  void visit(Visitor& v);
  const DataShape& data() const { return data_; }

 private:
  // The tokens of positions first, first + 1 …   [B, T] -> [B, T, C]
  Tensor embed(const Tensor& tokens, int64_t first, ForwardContext& context) const;

  DataShape data_;
  Child<"token_embedding", Embedding> token_embedding_;        // [V, C]
  Child<"position_embedding", Embedding> position_embedding_;  // [max_length, C], or undefined
  Tensor sinusoids_;                                           // [max_length, C], or undefined
  std::vector<Block> blocks_;
  Child<"final_norm", Norm> final_norm_;  // of pre-norm, whose residual stream is not normalized
  Child<"head", Linear> head_;            // C -> V; without a weight: the token embedding's is used
  bool pre_norm_, tied_;
  Dropout dropout_;
};

}  // namespace qkv
