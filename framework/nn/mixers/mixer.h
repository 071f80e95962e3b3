#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "framework/nn/forward_context.h"
#include "framework/nn/layers.h"
#include "framework/nn/mixers/attention.h"
#include "framework/nn/mixers/convolution.h"
#include "framework/nn/mixers/mixing.h"
#include "framework/nn/mixers/recurrence.h"

namespace qkv {

// The layer that passes information between the tokens of a sequence: one of these, with its name.
struct Mixer {
  std::variant<NotedChild<"attention", MultiHeadAttention>, NotedChild<"convolution", Convolution>,
               NotedChild<"recurrence", Recurrence>, NotedChild<"learned", LearnedMixing>,
               NotedChild<"uniform", UniformMixing>>
      kind;

  std::string_view name() const;  // "attention"
  std::string norm_name() const;  // "attention_norm"
  // By the norm before or after it, which has that name.
  Tensor normalized(const Tensor& x, const Norm& norm) const;

  // x [B, T, C] -> [B, T, C]. A causal mask hides the later positions from each position. Padding
  // has no effect. With a cache in the context and a causal mask, x continues the tokens that were
  // read before.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& v);  // under its name
};

}  // namespace qkv
