#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "train/config/options.h"
#include "train/folder/metrics.h"
#include "train/loop/trainer.h"

namespace qkv {

// A run as it stood at one of its checkpoints, or at its beginning. Nothing is written.
struct ReplayStart {
  std::string run;  // as the user names it
  Config config;
  std::unique_ptr<Dataset> dataset;
  std::unique_ptr<Trainer> trainer;
  std::string checkpoint;          // "": the weights that the run began with
  bool is_damaged = false;         // a number of the checkpoint is not finite
  bool has_ended = false;          // the run makes no further step
  bool evaluation_is_due = false;  // the last step was made, and not evaluated
  std::vector<Metrics> metrics;    // the lines of the run
  std::vector<std::string> notes;  // what is worth knowing of its checkpoints
};

// The newest checkpoint of the run; with a step, the newest whole one before it, or the beginning
// of the run. `run` may name a checkpoint.
absl::StatusOr<ReplayStart> begin_replay(const std::string& run, std::optional<int64_t> step);

}  // namespace qkv
