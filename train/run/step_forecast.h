#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "data/dataset.h"
#include "train/config/options.h"

namespace qkv {

// The bytes that a training holds at the highest moment of a step, and what a step multiplies.
struct StepForecast {
  uint64_t parameters = 0;  // with their gradients and what the optimizer keeps of them
  uint64_t batch = 0;       // what the forward pass of a batch leaves for the backward pass
  double flops = 0;         // of the matrix products of a step
  bool is_whole = true;     // false: the parameters alone are too many, the batch was not looked at

  uint64_t total() const { return parameters + batch; }
};

// Differentiates the loss of 8 examples and, where there are more, of 4, with a model of zeros, and
// takes from that what each more example needs. It draws no weights and makes no optimizer: what is
// left is the work of 12 examples at most, out of a batch. It looks at parameters alone where these
// need more than `available`.
StepForecast foresee_step(const Config& config, const Dataset& dataset, uint64_t available);

// ResourceExhausted where it needs more than is available; it names the keys that matter.
absl::Status check_memory(const StepForecast& forecast, uint64_t available);

std::string describe(const StepForecast& forecast);  // "about 38 MiB of memory"

}  // namespace qkv
