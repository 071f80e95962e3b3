#pragma once

#include <cstdint>
#include <stop_token>

#include "absl/status/status.h"
#include "data/dataset.h"
#include "framework/core/terminal.h"
#include "train/config/options.h"
#include "train/folder/checkpoint.h"
#include "train/loop/trainer.h"
#include "train/watch/run_listener.h"

namespace qkv {

bool is_evaluated(const TrainOptions& options, int64_t step);  // the last step always is
// Whether the step has a checkpoint of its own.
bool is_numbered(const TrainOptions& options, int64_t step);
bool is_logged(const TrainOptions& options, int64_t step);  // every evaluated or detailed step is

// Whether a run makes no further step: it has made them all, or train.patience has run out.
bool has_lost_patience(const TrainOptions& options, const RunState& state);
bool has_ended(const TrainOptions& options, const RunState& state);

// Evaluates the model after a step, and adds to its report how well it does and what it answers. A
// stop is answered by a Status: Cancelled. A loss that is not finite is an error.
absl::Status evaluate_step(const Config& config, Trainer& trainer, const Dataset& dataset,
                           const std::stop_token& stop, const TellProgress& tell, StepReport& step);

}  // namespace qkv
