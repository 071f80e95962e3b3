#pragma once

#include "framework/nn/attention.h"
#include "framework/nn/feed_forward.h"
#include "framework/nn/norm.h"

namespace qkv {

// One layer, x [B, T, C] -> [B, T, C]:
//   pre-norm    x = x + attention(norm(x));  x = x + feed_forward(norm(x))   Xiong et al. 2020
//   post-norm   x = norm(x + attention(x));  x = norm(x + feed_forward(x))   Vaswani et al. 2017
struct Block {
  Child<"attention_norm", Norm> attention_norm;
  Child<"attention", MultiHeadAttention> attention;
  Child<"feed_forward_norm", Norm> feed_forward_norm;
  Child<"feed_forward", FeedForward> feed_forward;
  bool pre_norm = true;

  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& v);
};

}  // namespace qkv
