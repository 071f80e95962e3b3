#pragma once

#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "train/config/options.h"
#include "train/run/checkpoint.h"
#include "train/run/run_folder.h"
#include "train/run/run_listener.h"
#include "train/run/run_record.h"
#include "train/run/trainer.h"

namespace qkv {

enum class RunOutcome { kFinished, kInterrupted };

// One training run, from the first file of its folder to the last. It tells a person nothing: its
// listeners do (train/run/train.h).
class TrainingRun {
 public:
  // `dataset` must outlive the run. A stop is answered after the step, or the batch of an
  // evaluation, that is being computed.
  TrainingRun(Config config, const Dataset& dataset, RunFolder folder, std::stop_token stop = {});
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // One of these comes first. Both leave a checkpoint: a run without a step can be resumed, too.
  absl::Status begin();
  absl::Status resume();

  // Trains until the last step, or a stop, after which the run can be resumed. Whatever the order
  // of the listeners, they are told of a step before anything of it is written.
  absl::StatusOr<RunOutcome> run(const std::vector<RunListener*>& listeners);

  const Config& config() const { return config_; }
  const RunFolder& folder() const { return record_.folder(); }
  const Model& model() const { return trainer_.model(); }
  const RunState& state() const { return state_; }
  double elapsed_seconds() const { return elapsed_seconds_; }  // of training, over all resumes
  // In what its config differs from the one that it had before the resume.
  const std::vector<std::string>& changes() const { return changes_; }
  // All steps are made, evaluated and written.
  bool is_finished() const { return all_steps_made() && !state_.unwritten; }

 private:
  bool all_steps_made() const { return state_.step == config_.train.steps; }
  absl::Status next_step(const std::vector<RunListener*>& listeners);
  absl::Status step(const std::vector<RunListener*>& listeners);
  absl::Status after_step(const Metrics& metrics, const std::vector<RunListener*>& listeners);
  Metrics measured(const StepResult& result, double seconds);
  absl::Status save_where_it_stands();

  const Config config_;
  const Dataset& dataset_;
  std::stop_token stop_;
  Trainer trainer_;
  RunState state_;
  RunRecord record_;
  std::vector<std::string> changes_;
  double elapsed_seconds_ = 0;
  int64_t tokens_since_log_ = 0;
  double seconds_since_log_ = 0;
};

}  // namespace qkv
