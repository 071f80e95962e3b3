#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "train/config/options.h"
#include "train/folder/checkpoint.h"
#include "train/folder/run_folder.h"
#include "train/loop/run_record.h"
#include "train/loop/step_evaluation.h"
#include "train/loop/trainer.h"
#include "train/watch/run_listener.h"

namespace qkv {

// kOutOfTime: after train.max_minutes, with all that an interruption leaves.
enum class RunOutcome { kFinished, kInterrupted, kOutOfTime };

// One training run, from the first file of its folder to the last. It tells a person nothing: its
// listeners do (train/loop/train.h).
class TrainingRun {
 public:
  // `dataset` must outlive the run. A stop is answered after the step, or the batch of an
  // evaluation, that is being computed.
  TrainingRun(Config config, const Dataset& dataset, RunFolder folder, std::stop_token stop = {},
              Trainer::Differentiate differentiate = {});
  TrainingRun(const TrainingRun&) = delete;
  TrainingRun& operator=(const TrainingRun&) = delete;

  // One of these comes first. begin() takes the weights that train.from names. Both leave a
  // checkpoint: a run without a step can be resumed, too.
  absl::Status begin();
  absl::Status resume();

  // Trains until the run has ended (has_ended), or a stop, after which it can be resumed. Whatever
  // the order of the listeners, they are told of a step before anything of it is written.
  absl::StatusOr<RunOutcome> run(const std::vector<RunListener*>& listeners);

  const Config& config() const { return config_; }
  const RunFolder& folder() const { return record_.folder(); }
  const Model& model() const { return trainer_.evaluated_model(); }
  const RunState& state() const { return state_; }
  double elapsed_seconds() const { return elapsed_seconds_; }  // of training, over all resumes
  // In what its config differs from the one that it had before the resume.
  const std::vector<std::string>& changes() const { return changes_; }
  // It has ended, and all of it is evaluated and written.
  bool is_finished() const { return has_ended(config_.train, state_) && !state_.unwritten; }

 private:
  bool is_out_of_time() const;
  bool is_stopped() const { return stop_.stop_requested(); }
  absl::Status next_step();
  absl::Status step();
  absl::Status after_step(const Metrics& metrics);
  Metrics measured(const StepResult& result, double seconds);
  absl::Status save_where_it_stands();

  const Config config_;
  const Dataset& dataset_;
  std::stop_token stop_;
  Trainer trainer_;
  RunState state_;
  std::vector<std::unique_ptr<RunListener>> of_apps_;
  std::vector<RunListener*> listeners_;
  RunRecord record_;
  std::vector<std::string> changes_;
  double elapsed_seconds_ = 0;
};

}  // namespace qkv
