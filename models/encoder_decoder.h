#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/nn/data_shape.h"
#include "framework/nn/forward_context.h"
#include "models/model_options.h"
#include "models/stack.h"

namespace qkv {

// The transformer of Vaswani et al. 2017: an encoder reads the source, and each of its tokens sees
// all others; a decoder writes the target token by token, from the target so far and, by
// cross-attention, from the encoder's output. Both have one vocabulary.
class EncoderDecoder {
 public:
  static constexpr const char* kName = "encoder_decoder";
  static constexpr DataForm kForm = DataForm::kSourceTarget;
  static std::vector<std::string> keys();  // the options that it reads

  // Throws Error on options that do not fit each other.
  EncoderDecoder(const ModelOptions& options, const DataShape& data, Initializer init);

  // The inputs of a batch: source i64 [B, Ts], target i64 [B, Tt], and where sources differ in
  // length their padding, boolean [B, Ts] -> logits [B, Tt, V]
  Tensor operator()(std::span<const Tensor> inputs, ForwardContext& context) const;

  // Model::next_logits. The prompts are the source; a `cache` keeps all of it that the decoder
  // needs. Throws Error where more is written than a target may hold.
  Tensor next_logits(const Array& prompts, const Array& written, KeyValueCache* cache) const;

  void visit(Visitor& v);
  const DataShape& data() const { return data_; }

 private:
  Tensor encode(const Tensor& source, const Tensor& padding, ForwardContext& context) const;
  Tensor decode(const Tensor& target, const AttentionSource& source, ForwardContext& context) const;

  DataShape data_;
  TokenMaps tokens_;
  Child<"encoder", Stack> encoder_;
  Child<"decoder", Stack> decoder_;
};

}  // namespace qkv
