#pragma once

#include "framework/nn/dropout.h"
#include "framework/ops/ops.h"

namespace qkv {

// The mean of what is seen, with nothing to learn.
struct UniformMixing {
  Dropout output_dropout;

  // x [B, T, C] -> [B, T, C], as mix_by_scores has it (framework/nn/mixing.h).
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& /*v*/) {}
};

}  // namespace qkv
