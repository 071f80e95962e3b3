#pragma once

#include <vector>

#include "framework/ops/examples.h"

namespace qkv {

// Whole training steps of small networks, each as a function of the data, the weights, the state of
// the optimizer and the learning rate, in the form of ops' examples.
std::vector<OpExamples> step_examples();

}  // namespace qkv
