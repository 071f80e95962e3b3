#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "framework/io/files.h"
#include "models/model.h"
#include "train/run/run_listener.h"

namespace qkv {

// `train.tensorboard`: what a run tells of its steps, in a file of its folder that TensorBoard
// reads: every number of metrics.jsonl as a scalar; after an evaluation also a histogram of each
// parameter that was evaluated, and the samples as a text.
class EventFile {
 public:
  // Begins events.out.tfevents.TIME.qkv, which readers take after those that are in the folder; and
  // of these they drop the steps from `first_step` on.
  static absl::StatusOr<EventFile> begin(const std::string& folder, int64_t first_step);

  absl::Status append(const StepReport& step, const Model& evaluated);
  absl::Status flush() { return file_.flush(); }

 private:
  explicit EventFile(AppendFile file) : file_(std::move(file)) {}

  AppendFile file_;
};

}  // namespace qkv
