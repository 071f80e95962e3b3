#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "train/config/options.h"
#include "train/folder/checkpoint.h"
#include "train/folder/run_folder.h"
#include "train/loop/trainer.h"

namespace qkv {

// Opens the folder of a run to go on with it. An error where the run began with another config, but
// for the keys that may change on resume, or has made more steps than this one has.
absl::StatusOr<RunFolder> open_to_resume(const std::string& path, const Config& config);

// An error where the checkpoint, which `path` names, is not one of the run in the folder `run`, or
// the data is not what it learned from.
absl::Status check_same_run(const std::string& path, const Checkpoint& checkpoint,
                            const std::string& run, const Config& config, const Dataset& dataset);

// Where a run stands that goes on.
struct ResumedRun {
  RunState state;
  double elapsed_seconds = 0;             // of training, so far
  std::vector<std::string> changes = {};  // of the config: "train.steps is 2000, but was 500"
};

// Sets the trainer to the newest checkpoint of the folder, cuts metrics.jsonl and samples.txt back
// to it, and writes the config where it has changed. Nothing in the folder changes before all of it
// fits.
absl::StatusOr<ResumedRun> resume_from(const RunFolder& folder, const Config& config,
                                       const Dataset& dataset, Trainer& trainer);

}  // namespace qkv
