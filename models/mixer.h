#pragma once

#include "framework/nn/mixer.h"
#include "models/options.h"

namespace qkv {

// What `options` name, of d_model numbers for each of up to `max_length` tokens; causal, or hearing
// of both sides. What it adds to the residual stream is initialized as GPT-2 has it: deviation 0.02
// divided by sqrt(2 num_layers). Throws Error on options that do not fit each other.
Mixer make_mixer(Initializer& init, const ModelOptions& options, int64_t max_length, bool causal);

}  // namespace qkv
