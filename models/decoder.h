#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/nn/data_shape.h"
#include "framework/nn/forward_context.h"
#include "models/model_options.h"
#include "models/stack.h"

namespace qkv {

// The decoder-only transformer: each position predicts the token after it, from itself and those
// before.
class Decoder {
 public:
  static constexpr const char* kName = "decoder";
  static constexpr DataForm kForm = DataForm::kSequence;
  static std::vector<std::string> keys();  // the options that it reads, but those of a mixer

  // Throws Error on options that do not fit each other.
  Decoder(const ModelOptions& options, const DataShape& data, Initializer init);

  // tokens i64 [B, T] -> logits [B, T, V]
  // They stand at the context's first position and after it: with a key/value cache, after the
  // tokens that are in it. With learned positions there are at most max_length.
  Tensor operator()(const Tensor& tokens, ForwardContext& context) const;
  // The inputs of a batch: tokens alone.
  Tensor operator()(std::span<const Tensor> inputs, ForwardContext& context) const;

  // Model::next_logits. The last max_length tokens of each row are read. Beyond max_length every
  // token moves to another position, so that nothing of a `cache` can be used.
  Tensor next_logits(const Array& prompts, const Array& written, KeyValueCache* cache) const;

  void visit(Visitor& v);
  const DataShape& data() const { return data_; }

 private:
  DataShape data_;
  TokenMaps tokens_;
  Stack stack_;
};

}  // namespace qkv
