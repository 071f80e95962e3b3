#pragma once

#include <cstdio>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "train/config/config.h"
#include "train/distributed/ranks.h"
#include "train/run/run_listener.h"
#include "train/run/training_run.h"

namespace qkv {

struct TrainingRunOptions {
  std::string out;            // the run's folder; "": runs/NAME
  bool resume = false;        // go on with the run that is there
  bool profile = false;       // write where the time of some steps goes
  std::stop_token stop = {};  // saves where the run stands, and says how to go on
  std::vector<RunListener*> listeners = {};
  std::FILE* output = stdout;  // where a person reads how it goes
  Ranks* ranks = nullptr;      // that train the run together; all of them call run_training()
  std::string program = "";    // its version, which must be that of all ranks
};

// The config in a file, or to resume, that of the run in a folder, into which it then trains.
absl::StatusOr<LoadedConfig> config_to_train(const std::string& path,
                                             const std::vector<std::string>& overrides,
                                             TrainingRunOptions& options);

// Trains what a config says and writes the run's folder: config, metrics, samples, checkpoints.
// Of several ranks, rank 0 does so and tells a person how it goes; its result is that of the run.
absl::StatusOr<RunOutcome> run_training(const LoadedConfig& loaded,
                                        const TrainingRunOptions& options);

}  // namespace qkv
