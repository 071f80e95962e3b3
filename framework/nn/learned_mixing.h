#pragma once

#include "framework/nn/dropout.h"
#include "framework/ops/ops.h"

namespace qkv {

// Attention whose weights do not depend on what is read: one trained row of scores for each place.
//   y_i = sum_j w_ij x_j,  w_i = softmax(scores_i) over what is seen
struct LearnedMixing {
  Tensor scores;  // [T_max, T_max], start at 0: UniformMixing
  Dropout output_dropout;

  LearnedMixing() = default;
  LearnedMixing(Initializer& init, int64_t max_length);

  // x [B, T, C] -> [B, T, C], T at most T_max, as mix_by_scores has it (framework/nn/mixing.h).
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& v);
};

}  // namespace qkv
