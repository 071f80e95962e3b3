#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "train/config/options.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"
#include "train/run/trainer.h"

namespace qkv {

// Opens the folder of a run to go on with it. An error where the run began with another config:
// train.threads alone may differ.
absl::StatusOr<RunFolder> open_to_resume(const std::string& path, const Config& config);

// Where a run stands that goes on.
struct ResumedRun {
  RunState state;
  double elapsed_seconds = 0;  // of training, so far
};

// Sets the trainer to the newest checkpoint of the folder, and cuts metrics.jsonl and samples.txt
// back to it. Nothing in the folder changes before all of it fits.
absl::StatusOr<ResumedRun> resume_from(const RunFolder& folder, const Config& config,
                                       const Dataset& dataset, Trainer& trainer);

}  // namespace qkv
