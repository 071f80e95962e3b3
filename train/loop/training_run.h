#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "data/dataset.h"
#include "framework/core/status.h"
#include "framework/io/files.h"
#include "train/config/train_options.h"
#include "train/folder/checkpoint.h"
#include "train/folder/run_folder.h"
#include "train/loop/trainer.h"
#include "train/watch/run_listener.h"

namespace qkv {

bool is_evaluated(const TrainOptions& options, int64_t step);  // the last step always is
// Whether the step has a checkpoint of its own. `parameters`: their number in the model.
bool is_numbered(const TrainOptions& options, int64_t parameters, int64_t step);
bool is_logged(const TrainOptions& options, int64_t step);  // every evaluated or detailed step is
// Whether a run makes no further step: it has made them all, or train.patience has run out.
bool has_ended(const TrainOptions& options, const RunState& state);

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

  // One of these comes first. Both leave a checkpoint: a run without a step can be resumed, too.
  absl::Status begin(const FirstWeights& weights);
  absl::Status resume();

  // Trains until the run has ended (has_ended), or a stop, after which it can be resumed. Whatever
  // their order, the listeners get a step before anything of it is written.
  absl::StatusOr<RunOutcome> run(const std::vector<RunListener*>& listeners);

  const Config& config() const { return config_; }
  const RunFolder& folder() const { return folder_; }
  const Model& model() const { return trainer_.evaluated_model(); }
  const RunState& state() const { return state_; }
  double elapsed_seconds() const { return elapsed_seconds_; }  // of training, over all resumes
  // The differences of its config from the one that it had before the resume.
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
  // Adds the model's results and answers to the report. A loss that is not finite is an error.
  absl::Status evaluate(StepReport& step);

  // The files of the run. A checkpoint continues the lines that are on the disk before it.
  absl::Status open_files();  // empty where they are not there yet
  absl::Status append_lines(const StepReport& step);
  absl::Status save_checkpoints(const StepReport& step);  // those that are due
  absl::Status save_last() { return save(folder_.last_checkpoint()); }
  absl::Status save(const std::string& path);
  absl::Status save_where_it_stands();
  // An error if a parameter is not finite: then it is not saved.
  absl::Status check_finite();
  // If somebody has moved the folder, saves the run there, and returns an error.
  absl::Status check_place();
  // The error that ends a run, or the one that explains it, with the checkpoint that is kept.
  absl::Status explain(absl::Status status);

  const Config config_;
  const Dataset& dataset_;
  std::stop_token stop_;
  RunFolder folder_;
  Trainer trainer_;
  RunState state_;
  std::vector<std::unique_ptr<RunListener>> of_apps_;
  std::vector<RunListener*> listeners_;
  std::optional<AppendFile> metrics_, samples_;
  std::vector<std::string> changes_;
  double elapsed_seconds_ = 0;
};

}  // namespace qkv
