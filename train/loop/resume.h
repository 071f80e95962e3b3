#pragma once

#include <string>
#include <vector>

#include "data/dataset.h"
#include "framework/core/status.h"
#include "train/config/train_options.h"
#include "train/folder/checkpoint.h"
#include "train/folder/loaded_run.h"
#include "train/folder/run_folder.h"
#include "train/loop/trainer.h"

namespace qkv {

// Opens the folder of a run to continue it. An error where the run began with another config, but
// for the keys that may change on resume, or has made more steps than this one has.
absl::StatusOr<RunFolder> open_to_resume(const std::string& path, const Config& config);

// Sets a trainer to a checkpoint of its run, which stands in the folder `run`. An error where it is
// one of another run, or the data differs from its training data.
absl::Status set_trainer(Trainer& trainer, const LoadedRun& at, const std::string& run,
                         const Config& config, const Dataset& dataset,
                         CheckpointNumbers numbers = CheckpointNumbers::kFinite);

// The state of a run to be continued.
struct ResumedRun {
  RunState state;                         // with elapsed_seconds
  std::vector<std::string> changes = {};  // of the config: "train.steps is 2000, but was 500"
};

// Sets the trainer to the newest checkpoint of the folder, cuts metrics.jsonl and samples.txt back
// to it, and writes the config where it has changed. Nothing in the folder changes before all of it
// fits.
absl::StatusOr<ResumedRun> resume_from(const RunFolder& folder, const Config& config,
                                       const Dataset& dataset, Trainer& trainer);

}  // namespace qkv
