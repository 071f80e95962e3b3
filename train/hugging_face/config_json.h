#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "train/config/options.h"
#include "train/hugging_face/tensors.h"

namespace qkv {

// What a config.json of Hugging Face says of a model.
struct HuggingFaceConfig {
  HuggingFaceKind kind = HuggingFaceKind::kGpt2;
  ModelOptions model;
  DataShape data;
  std::vector<std::string> class_names;  // of a classifier, by number
};

// Reads a GPT-2 or a Vision Transformer; `source` names the file. What no model of qkv does comes
// with all else that is wrong, a line each.
absl::StatusOr<HuggingFaceConfig> parse_hugging_face_config(std::string_view json,
                                                            const std::string& source);

// The kind that has all of the model. An error names every key that stands in the way, and the
// value that would do, in one sentence.
absl::StatusOr<HuggingFaceKind> find_hugging_face_kind(const Config& config, const DataShape& data);

// The text of config.json. Numbers are of `dtype`; first_token and last_token are the numbers of
// tokens that begin and end a text, or -1.
struct TextEnds {
  int64_t first_token = -1;
  int64_t last_token = -1;
};
std::string hugging_face_config_json(const HuggingFaceConfig& config, DType dtype, TextEnds ends);

}  // namespace qkv
