#pragma once

#include <string>

#include "apps/cluster/ranks.h"
#include "framework/core/status.h"
#include "train/loop/train.h"

namespace qkv {

// run_training() by all ranks; each calls this with the config it has loaded: to the bits of one
// process. Rank 0 trains as one process does, and its result is that of the run; before each step
// it lets the others know, who have trainers of their own, and all compute the gradients together.
// So stopping, patience and errors are decided in one place. `program`: its version.
//
// An error while all take part in a step, or on another rank, ends all after one sentence.
absl::StatusOr<RunOutcome> train_together(const absl::StatusOr<LoadedConfig>& loaded,
                                          TrainingRunOptions options, const std::string& program,
                                          Ranks& ranks);

}  // namespace qkv
