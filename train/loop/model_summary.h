#pragma once

#include <string>

#include "data/dataset.h"
#include "train/config/options.h"
#include "train/loop/step_forecast.h"

namespace qkv {

// The parts of a model with the shapes of their parameters, a line each, blocks that are alike told
// once; then its parameters, and what a step of training multiplies and holds.
std::string model_summary(const Config& config, const Dataset& dataset,
                          const StepForecast& forecast);

}  // namespace qkv
