#pragma once

#include <vector>

#include "framework/nn/initializer.h"
#include "framework/ops/support/op_examples.h"
#include "models/model_options.h"

namespace qkv {

// Small models with their loss, as functions of every parameter, in the form of ops' examples.
// Inputs and parameters are of the dtype of `init`.
std::vector<OpExamples> model_examples(const Initializer& init = {RandomStream(1), DType::f64});

std::vector<ModelOptions> options_of_model_examples();

// The same of a model with these options, in f64.
OpExample model_example(const ModelOptions& options);

}  // namespace qkv
