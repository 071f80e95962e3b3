#include "framework/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace qkv {

double scheduled_learning_rate(const OptimizerOptions& options, int64_t step, int64_t total_steps) {
  const double highest = options.learning_rate, lowest = options.min_learning_rate;
  if (step < options.warmup_steps) {
    return highest * static_cast<double>(step + 1) / static_cast<double>(options.warmup_steps + 1);
  }
  const int64_t falling_steps = std::max<int64_t>(1, total_steps - 1 - options.warmup_steps);
  const double progress = std::min(
      1.0, static_cast<double>(step - options.warmup_steps) / static_cast<double>(falling_steps));
  switch (options.schedule) {
    case Schedule::kConstant:
      return highest;
    case Schedule::kLinear:
      return highest + (lowest - highest) * progress;
    case Schedule::kCosine:
      break;
  }
  return lowest + (highest - lowest) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace qkv
