#pragma once

#include <string_view>
#include <variant>

#include "framework/nn/attention.h"
#include "framework/nn/convolution.h"
#include "framework/nn/learned_mixing.h"
#include "framework/nn/recurrence.h"
#include "framework/nn/uniform_mixing.h"

namespace qkv {

// What lets the tokens of a sequence hear of each other: one of these, under its name.
struct Mixer {
  std::variant<Child<"attention", MultiHeadAttention>, Child<"convolution", Convolution>,
               Child<"recurrence", Recurrence>, Child<"learned", LearnedMixing>,
               Child<"uniform", UniformMixing>>
      kind;

  std::string_view name() const;  // "attention"

  // x [B, T, C] -> [B, T, C]. A causal mask hides what stands after a position; otherwise it hears
  // of both sides. Padding is heard of by nobody. With a cache in the context, x goes on from the
  // tokens that were read, where the mask is causal.
  Tensor operator()(const Tensor& x, const AttentionMask& mask, ForwardContext& context) const;
  void visit(Visitor& v);  // under its name
};

}  // namespace qkv
