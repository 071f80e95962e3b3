#pragma once

#include <string>
#include <vector>

#include "apps/exchange/export_formats.h"

namespace qkv {

// Entries of export_formats(): config.json, model.safetensors, and tokenizer.json where the model
// reads tokens, preprocessor_config.json where it reads images. A file of the other kind is empty.
std::vector<ExportedFile> hugging_face_files(const std::string& folder);
absl::StatusOr<std::vector<std::string>> make_hugging_face(const LoadedRun& run,
                                                           const std::string& folder);

}  // namespace qkv
