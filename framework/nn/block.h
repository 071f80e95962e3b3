#pragma once

#include "framework/nn/forward_context.h"
#include "framework/nn/layer_options.h"
#include "framework/nn/layers.h"
#include "framework/nn/mixers/mixer.h"

namespace qkv {

// The source of cross-attention.
struct AttentionSource {
  Tensor x;  // [B, Ts, C]; undefined: the context's cache has all that is needed of it
  AttentionMask mask;
};

// One layer, x [B, T, C] -> [B, T, C]: the mixer passes information between the tokens, the
// feed-forward network transforms each.
//   pre-norm    x = x + mixer(norm(x));  x = x + feed_forward(norm(x))       Xiong et al. 2020
//   post-norm   x = norm(x + mixer(x));  x = norm(x + feed_forward(x))       Vaswani et al. 2017
//   no norm     x = x + mixer(x);        x = x + feed_forward(x)
// and between the two, where there is a source, the same with cross-attention to it.
struct Block {
  Norm mixer_norm;  // its name comes from the mixer: "attention_norm"
  Mixer mixer;
  bool attends_to_source = false;  // has the next two
  NotedChild<"cross_attention_norm", Norm> cross_attention_norm;
  NotedChild<"cross_attention", MultiHeadAttention> cross_attention;
  NotedChild<"feed_forward_norm", Norm> feed_forward_norm;
  NotedChild<"feed_forward", FeedForward> feed_forward;
  NormPlace norm_place = NormPlace::kPre;  // kNone: has no norms

  // Throws Error unless there is a source exactly where the block attends to one.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context,
                    const AttentionSource* source = nullptr) const;
  void visit(Visitor& v);
};

}  // namespace qkv
