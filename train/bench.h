#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "train/options.h"

namespace qkv {

// How long training steps of a config take, data, clipping and optimizer included.
struct StepTimes {
  double lower_quartile_ms = 0, median_ms = 0, upper_quartile_ms = 0;
  double tokens_per_second = 0;  // at the median
  int64_t steps = 0;             // measured; a third as many came before them, to warm up
  int64_t parameters = 0;
  int threads = 0;
};

absl::StatusOr<StepTimes> measure_steps(const Config& config, int64_t steps);

}  // namespace qkv
