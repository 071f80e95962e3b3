#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/vocabulary.h"
#include "framework/core/status.h"
#include "framework/io/safetensors.h"
#include "train/config/train_options.h"
#include "train/folder/loaded_run.h"

// Reads a folder of Hugging Face's, and makes a run of it.
namespace qkv {

// The models of Hugging Face's transformers that are models of qkv, too.
enum class HuggingFaceKind {
  kGpt2,          // GPT2LMHeadModel: a decoder
  kVit,           // ViTForImageClassification: a classifier of images
  kMegatronBert,  // MegatronBertForTokenClassification: a classifier of tokens
};

// A tensor of such a model, and the ones of qkv in it.
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

// The model of a config.json of Hugging Face.
struct HuggingFaceConfig {
  HuggingFaceKind kind = HuggingFaceKind::kGpt2;
  ModelOptions model;
  DataShape data;
  std::vector<std::string> class_names;  // of a classifier, by number
};

// Reads a GPT-2 or a Vision Transformer; `source` names the file. An error names all mistakes, and
// all that no model of qkv does, a line each.
absl::StatusOr<HuggingFaceConfig> parse_hugging_face_config(std::string_view json,
                                                            const std::string& source);

// The text of config.json. Numbers are of `dtype`; first_token and last_token are the numbers of
// tokens that begin and end a text, or -1.
struct TextEnds {
  int64_t first_token = -1;
  int64_t last_token = -1;
};
std::string hugging_face_config_json(const HuggingFaceConfig& config, DType dtype, TextEnds ends);

// The text of tokenizer.json.
std::string any_tokenizer_json(const Vocabulary& vocabulary);

// Makes the run of step 0 that begins with the model of the folder. Its vocabulary is that of
// tokenizer.json, or for images the class names. Tensors that the model does not have are ignored;
// rows of the embedding without a token are left out, with a note.
absl::Status import_hugging_face(const std::string& folder, const std::string& run,
                                 const TellNote& tell);

}  // namespace qkv
