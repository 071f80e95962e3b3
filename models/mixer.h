#pragma once

#include "framework/nn/mixer.h"
#include "models/options.h"

namespace qkv {

// Throw Error on options that do not fit each other. What they add to the residual stream begins
// with the standard deviation `residual_deviation`.

// What `options` name, of d_model numbers for each of up to `max_length` tokens; causal, or hearing
// of both sides.
Mixer make_mixer(Initializer& init, const ModelOptions& options, int64_t max_length, bool causal,
                 double residual_deviation);

// Attention to a source: places in the one sequence mean nothing in the other.
MultiHeadAttention make_cross_attention(Initializer& init, const ModelOptions& options,
                                        double residual_deviation);

}  // namespace qkv
