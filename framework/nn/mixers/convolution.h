#pragma once

#include "framework/nn/forward_context.h"
#include "framework/nn/initializer.h"
#include "framework/nn/layers.h"
#include "framework/ops/ops.h"

namespace qkv {

// Each position gets a weighted sum over K neighbours, with one weight (tap) for each distance. The
// taps end at the position under a causal mask and surround it otherwise (with an even K one more
// tap is after it). Padding, and positions beyond the ends, read as zeros.
struct Convolution {
  // As in PyTorch's Conv1d: [C, C, K], or depthwise [C, 1, K], which convolves each of the C
  // features separately.
  Tensor weight;
  Tensor bias;  // [C]; undefined: none
  bool depthwise = false;
  bool bf16_products = false;  // depthwise there are none
  Dropout output_dropout;

  Convolution() = default;
  // The weight is normal with `standard_deviation`, or sqrt(C) times that if depthwise: it sums C
  // times fewer numbers, and so the results are as large. The bias is zero.
  Convolution(Initializer& init, int64_t width, int64_t kernel, bool is_depthwise, bool with_bias,
              double standard_deviation);

  int64_t kernel() const { return weight.dim(2); }

  // x [B, T, C] -> [B, T, C]. With a cache under a causal mask, x continues the tokens that were
  // read; the cache has the last K - 1 of them. Notes "weights", the weight.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& v);
};

}  // namespace qkv
