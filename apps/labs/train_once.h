#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "data/dataset.h"
#include "models/model.h"
#include "train/config/options.h"
#include "train/folder/metrics.h"
#include "train/watch/run_listener.h"

namespace qkv {

// What a run that is finished came to.
struct FinishedRun {
  Config config;
  std::shared_ptr<const Dataset> dataset;
  Model model;
  std::vector<Metrics> metrics;  // of each step that is logged; the last one is evaluated
};

// Trains without a terminal into `folder`, as `qkv train` does, or reads what the same config came
// to in it before. What is in the folder and is unfinished, cannot be read, is of another config,
// or would come out otherwise today (which the first two steps tell, where they are logged) is
// removed. Processes may share the folder: one trains, and the others wait for it. A run that
// fails leaves no folder. The listener is told of a training.
absl::StatusOr<FinishedRun> train_once(const std::string& folder, const Config& config,
                                       RunListener& listener);

}  // namespace qkv
