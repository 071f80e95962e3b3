#pragma once

#include <string>
#include <vector>

#include "train/export/export_formats.h"

namespace qkv {

// Entries of export_formats().
std::vector<ExportedFile> onnx_files(const std::string& file);
absl::StatusOr<std::vector<std::string>> make_onnx(const LoadedRun& run, const std::string& file);

}  // namespace qkv
