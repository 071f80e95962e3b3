#pragma once

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "framework/io/safetensors.h"
#include "framework/nn/data_shape.h"
#include "models/options.h"

namespace qkv {

// The models of Hugging Face's transformers that are models of qkv, too.
enum class HuggingFaceKind {
  kGpt2,          // GPT2LMHeadModel: a decoder
  kVit,           // ViTForImageClassification: a classifier of images
  kMegatronBert,  // MegatronBertForTokenClassification: a classifier of tokens
};

// A tensor of such a model, and what of qkv's it holds.
struct HuggingFaceTensor {
  struct Part {
    std::string parameter;  // "blocks.0.attention.query.weight"
    Shape shape;
  };
  std::string name;              // "transformer.h.0.attn.c_attn.weight"
  Shape shape;                   // there
  std::vector<Part> parts = {};  // one below the other; none: zeros
  bool transposed = false;       // there
};

// All tensors of the model. `options` and `data` are those of a model that Hugging Face has.
std::vector<HuggingFaceTensor> hugging_face_tensors(HuggingFaceKind kind,
                                                    const ModelOptions& options,
                                                    const DataShape& data);

// The parameters of a checkpoint under the names and in the layout of Hugging Face.
std::vector<NamedArray> to_hugging_face(const std::vector<HuggingFaceTensor>& tensors,
                                        const std::vector<NamedArray>& parameters);

// Its names in files: with and without the prefix ("transformer.").
std::set<std::string> names_of(const HuggingFaceTensor& tensor);

// The other way, of tensors of the model; what the file does not have is left out. An error where a
// shape is another one.
absl::StatusOr<std::vector<NamedArray>> from_hugging_face(
    const std::vector<HuggingFaceTensor>& tensors, const std::vector<NamedArray>& arrays);

}  // namespace qkv
