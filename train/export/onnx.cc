#include "train/export/onnx.h"

#include "absl/strings/str_cat.h"

namespace qkv {

std::vector<ExportedFile> onnx_files(const std::string& file) {
  return {{file, "\x08\x08\x12\x03qkv"}};
}

absl::StatusOr<std::vector<std::string>> make_onnx(const LoadedRun& run, const std::string&) {
  const std::string& kind = run.checkpoint.config.model.kind;
  return absl::FailedPreconditionError(
      absl::StrCat(run.path, ": ONNX has no model.kind = \"", kind, "\" yet"));
}

}  // namespace qkv
