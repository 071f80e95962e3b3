#pragma once

#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "train/config/config.h"
#include "train/run/training_run.h"

namespace qkv {

struct TrainingRunOptions {
  std::string out;            // the run's folder; "": runs/NAME
  bool resume = false;        // go on with the run that is there
  bool profile = false;       // write where the time of some steps goes
  std::stop_token stop = {};  // saves where the run stands, and says how to go on
};

// Trains what a config says and writes the run's folder: config, metrics, samples, checkpoints.
// Tells a person on standard output how it goes.
absl::StatusOr<RunOutcome> run_training(const LoadedConfig& loaded,
                                        const TrainingRunOptions& options);

}  // namespace qkv
