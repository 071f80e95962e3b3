#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "cli/kit.h"
#include "train/loop/train.h"

namespace qkv {

Verb train_verb();

// The training of `qkv train`, given the config or the reason why there is none: run_training().
using TrainLoaded = std::function<absl::StatusOr<RunOutcome>(
    const absl::StatusOr<LoadedConfig>& loaded, const TrainingRunOptions& options)>;

// `qkv train` with the arguments of a person, but `train` trains.
absl::Status train_as_given(const std::string& argument, const GivenOptions& given,
                            std::stop_token stop, const TrainLoaded& train);

}  // namespace qkv
