#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "data/dataset.h"
#include "framework/core/status.h"
#include "train/config/train_options.h"

namespace qkv {

// The peak memory in bytes of a step or an evaluation in training, and a step's multiplications.
struct StepForecast {
  uint64_t parameters = 0;  // with their gradients and the optimizer's state
  uint64_t batch = 0;       // kept by a batch's forward pass for the backward pass
  uint64_t evaluation = 0;  // an evaluation, with the parameters and the optimizer's state
  uint64_t matrices = 0;    // of the matrix products of a step, all at once
  double flops = 0;         // of these products
  bool is_whole = true;     // false: the parameters alone are too many, the batch was not looked at

  uint64_t total() const { return std::max(parameters + batch, evaluation); }
};

// Differentiates and evaluates the loss of some examples of a batch, and of twice as many, with a
// model of zeros, and takes from that the need of each more example. They are 4, or of short
// sequences as many as have 1,024 positions. It draws no weights and makes no optimizer. It looks
// at parameters alone where these need more than `available`.
StepForecast foresee_step(const Config& config, const Dataset& dataset, uint64_t available);

// ResourceExhausted where it needs more than is available; it names the keys that matter.
absl::Status check_memory(const StepForecast& forecast, uint64_t available);

std::string describe(const StepForecast& forecast);  // "about 38 MiB of memory"

// The parts of a model with the shapes of their parameters, a line each, equal blocks once; then
// its parameters, and the multiplications and memory of a step of training.
std::string model_summary(const Config& config, const Dataset& dataset,
                          const StepForecast& forecast);

}  // namespace qkv
