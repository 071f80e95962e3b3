#include <algorithm>
#include <cmath>
#include <numbers>

#include "framework/optim/optimizer.h"

namespace qkv {

double scheduled_learning_rate(const OptimizerOptions& options, int64_t step, int64_t total_steps) {
  const double highest = options.learning_rate, lowest = options.min_learning_rate;
  // Doubles, which hold these integers: no sum or difference of them overflows.
  const double now = static_cast<double>(step), last = static_cast<double>(total_steps) - 1;
  const double warmup = static_cast<double>(options.warmup_steps);
  if (now < warmup) return highest * (now + 1) / (warmup + 1);
  const double progress = std::min(1.0, (now - warmup) / std::max(1.0, last - warmup));
  switch (options.schedule) {
    case Schedule::kConstant:
      return highest;
    case Schedule::kLinear:
      return highest + (lowest - highest) * progress;
    case Schedule::kStable: {
      const double decay = static_cast<double>(options.decay_steps);
      const double fallen = std::max(0.0, now - (last - decay));
      return highest + (lowest - highest) * (decay > 0 ? fallen / decay : 0.0);
    }
    case Schedule::kCosine:
      break;
  }
  return lowest + (highest - lowest) * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

}  // namespace qkv
