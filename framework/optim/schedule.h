#pragma once

#include <cstdint>

#include "framework/optim/options.h"

namespace qkv {

// The learning rate of step 0 … total_steps - 1: it rises in a straight line over warmup_steps,
// then stays
// ("constant"), or falls to min_learning_rate at the last step in a straight line ("linear") or
// along half a cosine ("cosine", Loshchilov and Hutter 2017).
double scheduled_learning_rate(const OptimizerOptions& options, int64_t step, int64_t total_steps);

}  // namespace qkv
