#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "train/run/checkpoint.h"

namespace qkv {

// Whether the folder holds a model in the layout of Hugging Face, and is not that of a run.
bool is_hugging_face(const std::string& folder);

// The file of its weights: model.safetensors, or where there are several their index,
// model.safetensors.index.json.
std::string weights_of_hugging_face(const std::string& folder);

// The model of a folder with config.json and weights, as a checkpoint of step 0. Its vocabulary is
// that of tokenizer.json, or of the classes of images, and is empty where there is none; its data
// is `folder`, which holds none. Tensors that the model does not have are not looked at; rows of
// the embedding for which there are no tokens are left out.
absl::StatusOr<Checkpoint> load_hugging_face(const std::string& folder);

}  // namespace qkv
