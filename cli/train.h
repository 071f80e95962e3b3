#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "cli/kit.h"
#include "train/loop/train.h"

namespace qkv {

// What `qkv train` does with the config, or with the reason why there is none: run_training().
using TrainLoaded = std::function<absl::StatusOr<RunOutcome>(
    const absl::StatusOr<LoadedConfig>& loaded, const TrainingRunOptions& options)>;

// `qkv train` with what a person gave, but that `train` trains.
absl::Status train_as_given(const std::string& argument, const GivenOptions& given,
                            std::stop_token stop, const TrainLoaded& train);

}  // namespace qkv
