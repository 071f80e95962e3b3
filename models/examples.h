#pragma once

#include <vector>

#include "framework/ops/examples.h"

namespace qkv {

// Small models with their loss, as functions of every parameter, in the form of ops' examples.
std::vector<OpExamples> model_examples();

}  // namespace qkv
