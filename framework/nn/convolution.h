#pragma once

#include "framework/nn/dropout.h"
#include "framework/ops/ops.h"

namespace qkv {

// Each position gets a sum over those near it, with one weight for each distance: K taps, which
// end at the position under a causal mask and stand around it otherwise (of an even number one more
// stands after it). Zeros stand for padding and beyond the ends.
struct Convolution {
  // As PyTorch's Conv1d: [C, C, K], or depthwise [C, 1, K], where each of the C numbers is summed
  // by itself.
  Tensor weight;
  Tensor bias;  // [C]; undefined: none
  bool depthwise = false;
  bool bf16_products = false;  // depthwise there are none
  Dropout output_dropout;

  Convolution() = default;
  // The weight is normal with `standard_deviation`, depthwise sqrt(C) times that: as many fewer
  // numbers are summed, and the results are as large. The bias is zero.
  Convolution(Initializer& init, int64_t width, int64_t kernel, bool is_depthwise, bool with_bias,
              double standard_deviation);

  int64_t kernel() const { return weight.dim(2); }

  // x [B, T, C] -> [B, T, C]. With a cache under a causal mask, x goes on from the tokens that were
  // read, of which the last K - 1 are remembered. Notes "weights", the weight.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& v);
};

}  // namespace qkv
