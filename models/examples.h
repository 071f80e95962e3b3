#pragma once

#include <vector>

#include "framework/ops/examples.h"
#include "models/options.h"

namespace qkv {

// Small models with their loss, as functions of every parameter, in the form of ops' examples.
std::vector<OpExamples> model_examples(bool bf16_products = false);

// The options of those models: each choice that a config has is there.
std::vector<ModelOptions> options_of_model_examples();

}  // namespace qkv
