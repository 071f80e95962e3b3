#pragma once

#include <cstdint>

#include "framework/optim/options.h"

namespace qkv {

// The learning rate of step 0 … total_steps - 1. It rises in a straight line over warmup_steps;
// then it stays (kConstant), or falls to min_learning_rate at the last step: in a straight line
// (kLinear), or along half a cosine (kCosine, Loshchilov and Hutter 2017).
double scheduled_learning_rate(const OptimizerOptions& options, int64_t step, int64_t total_steps);

}  // namespace qkv
