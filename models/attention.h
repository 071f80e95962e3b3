#pragma once

#include "framework/nn/attention.h"
#include "models/options.h"

namespace qkv {

// Attention as `options` say, within one sequence or, without a `position`, to a source: places in
// the one sequence mean nothing in the other. The projections back into the residual stream begin
// with the standard deviation `residual_deviation`. Throws Error on options that do not fit each
// other.
MultiHeadAttention make_attention(Initializer& init, const ModelOptions& options,
                                  double residual_deviation, AttentionPosition position = {});

}  // namespace qkv
