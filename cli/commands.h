#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "train/run/evaluate.h"
#include "train/run/generate.h"
#include "train/run/training_run.h"

namespace qkv {

// What each verb does, printed on standard output. Errors are a Status: what the user wrote is
// InvalidArgument, NotFound, AlreadyExists or FailedPrecondition, everything else went wrong by
// itself.

absl::StatusOr<RunOutcome> train_command(const std::string& config,
                                         const std::vector<std::string>& overrides,
                                         const TrainingRunOptions& options);

// `overrides` change the [data] of the run: another length to be judged at, another file.
absl::Status eval_command(const std::string& run, Split split,
                          const std::vector<std::string>& overrides, bool json);

struct GenerateOptions {
  std::string prompt;
  std::optional<int64_t> max_new_tokens;  // none: 200 of a text; what a task's answer has room for
  SamplingOptions sampling;
};
absl::Status generate_command(const std::string& run, const GenerateOptions& options);

struct DataCommandOptions {
  Split split = Split::kValidation;
  int64_t samples = 5;
  std::string export_file;  // "": shows examples instead
  int64_t batches = 10;
};
absl::Status data_command(const std::string& config, const std::vector<std::string>& overrides,
                          const DataCommandOptions& options);

absl::Status config_command(const std::string& config, const std::vector<std::string>& overrides);

absl::Status info_command(const std::string& file);

}  // namespace qkv
