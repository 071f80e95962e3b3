#pragma once

#include <cstdio>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "framework/core/status.h"
#include "train/config/config.h"
#include "train/loop/training_run.h"
#include "train/watch/run_listener.h"

namespace qkv {

struct TrainingRunOptions {
  std::string out;            // the run's folder; "": runs/NAME
  bool resume = false;        // continue the run that is there
  bool profile = false;       // write where the time of some steps goes
  std::stop_token stop = {};  // saves the run, and says how to continue it
  std::vector<RunListener*> listeners = {};
  std::FILE* output = stdout;  // where a person reads how it goes
  int threads = 0;             // where the config does not say how many; 0: one for each core
  Trainer::Differentiate differentiate = {};  // how the gradients of a step come about
};

// The config in a file, or to resume, that of the run in a folder, into which it then trains.
absl::StatusOr<LoadedConfig> config_to_train(const std::string& path,
                                             const std::vector<std::string>& overrides,
                                             TrainingRunOptions& options);

// Trains by a config and writes the run's folder: config, metrics, samples, checkpoints.
absl::StatusOr<RunOutcome> run_training(const LoadedConfig& loaded,
                                        const TrainingRunOptions& options);

// Its two halves: the preparation of a run, and the run itself. cannot_begin() reports a stop in
// the first one to a person.
struct PreparedRun {
  std::unique_ptr<Dataset> dataset;
  std::vector<std::string> notes;
};
absl::StatusOr<PreparedRun> prepare_run(const LoadedConfig& loaded,
                                        const TrainingRunOptions& options);
absl::Status cannot_begin(absl::Status why, const TrainingRunOptions& options);
absl::StatusOr<RunOutcome> train_prepared(PreparedRun prepared, const Config& config,
                                          const TrainingRunOptions& options);

}  // namespace qkv
