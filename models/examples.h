#pragma once

#include <vector>

#include "framework/nn/initializer.h"
#include "framework/ops/examples.h"
#include "models/options.h"

namespace qkv {

// Small models with their loss, as functions of every parameter, in the form of ops' examples.
// Inputs and parameters are of the dtype of `init`.
std::vector<OpExamples> model_examples(const Initializer& init = {RandomStream(1), DType::f64});

// The options of those models: each choice that a config has is there.
std::vector<ModelOptions> options_of_model_examples();

}  // namespace qkv
