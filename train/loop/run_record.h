#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "framework/io/files.h"
#include "train/folder/checkpoint.h"
#include "train/folder/run_folder.h"
#include "train/loop/trainer.h"
#include "train/watch/run_listener.h"

namespace qkv {

// What a run leaves in its folder: lines of metrics, samples, checkpoints. A checkpoint continues
// the lines that are on the disk before it.
class RunRecord {
 public:
  // What is referred to must outlive the record, which keeps `state` up to date. The listeners are
  // told what is written.
  RunRecord(RunFolder folder, const Config& config, const Dataset& dataset, Trainer& trainer,
            RunState& state, const std::vector<RunListener*>& listeners);

  const RunFolder& folder() const { return folder_; }

  // Opens metrics.jsonl and samples.txt, empty where they are not there yet.
  absl::Status open();
  // All that a step leaves: first its lines, then the checkpoints that are due.
  absl::Status write(const StepReport& step);
  absl::Status save_last();
  // An error where a parameter is no longer a finite number, as which it is not saved.
  absl::Status check_finite();
  // Where somebody has moved the folder, what would be lost is saved there, and an error says so.
  absl::Status check_place();
  // The error that ends a run, or the one that explains it, with what is kept.
  absl::Status explain(absl::Status status);

 private:
  absl::Status append_lines(const StepReport& step);
  absl::Status save_checkpoints(const StepReport& step);
  absl::Status save(const std::string& path);

  RunFolder folder_;
  const Config& config_;
  const Dataset& dataset_;
  Trainer& trainer_;
  RunState& state_;
  const std::vector<RunListener*>& listeners_;
  std::optional<AppendFile> metrics_, samples_;
};

}  // namespace qkv
