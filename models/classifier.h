#pragma once

#include <span>
#include <string>
#include <vector>

#include "framework/nn/data_shape.h"
#include "framework/nn/forward_context.h"
#include "models/model_options.h"
#include "models/stack.h"

namespace qkv {

// An encoder, in which every position sees all the others, and a linear head that predicts the
// class from a class token or from the mean. For images it is the Vision Transformer (Dosovitskiy
// et al. 2021): each patch of patch_size x patch_size pixels is a token, row by row.
class Classifier {
 public:
  static constexpr const char* kName = "classifier";
  static constexpr DataForm kForm = DataForm::kClass;
  static std::vector<std::string> keys();  // the options that it reads, but those of a mixer

  // Throws Error on options that do not fit each other or the data.
  Classifier(const ModelOptions& options, const DataShape& data, Initializer init);

  // The inputs of a batch: tokens i64 [B, T], and where they differ in length their padding,
  // boolean [B, T]; or pixels [B, channels, height, width] -> logits [B, classes]
  Tensor operator()(std::span<const Tensor> inputs, ForwardContext& context) const;

  // Model::next_logits: of the one token that answers the prompts.
  Tensor next_logits(const Array& prompts, const Array& written, KeyValueCache* cache) const;

  void visit(Visitor& v);
  const DataShape& data() const { return data_; }

 private:
  Tensor embed(const Tensor& tokens_or_pixels) const;  // -> [B, T, C]
  Tensor patches(const Tensor& pixels) const;          // -> [B, T, channels patch_size²]

  DataShape data_;
  int64_t patch_size_;
  Child<"token_embedding", Embedding> token_embedding_;  // [V, C], of tokens
  Child<"patch_embedding", Linear> patch_embedding_;     // channels patch_size² -> C, of images
  Tensor class_token_;                                   // [C]; undefined with the mean
  Stack stack_;
  Child<"head", Linear> head_;  // C -> classes
};

}  // namespace qkv
