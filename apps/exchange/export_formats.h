#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "train/run/loaded_run.h"

// The formats that a trained model is exported in, for programs that know nothing of qkv.
namespace qkv {

// A file that an export writes, and what every file of its kind begins with ("": anything).
struct ExportedFile {
  std::string path, beginning;
};

struct ExportFormat {
  const char* option;  // "onnx"
  const char* value;   // "FILE" or "FOLDER": what the option names
  const char* help;
  // The files for what the option names, and their bytes in the same order; a file without bytes is
  // not written. A model that the format cannot say is FailedPrecondition, in one sentence that
  // names the key.
  std::vector<ExportedFile> (*files)(const std::string& named);
  absl::StatusOr<std::vector<std::string>> (*make)(const LoadedRun& run, const std::string& named);
};

const std::vector<ExportFormat>& export_formats();

}  // namespace qkv
