#pragma once

#include "framework/nn/dropout.h"
#include "framework/nn/forward_context.h"
#include "framework/nn/linear.h"
#include "framework/nn/options.h"

namespace qkv {

Tensor activate(Activation activation, const Tensor& x);

// y = down(activation(up(x)))        x, y [..., C]; between them [..., F]
struct FeedForward {
  Child<"up", Linear> up;      // C -> F
  Child<"down", Linear> down;  // F -> C
  Activation activation = Activation::kGelu;
  Dropout dropout;  // of y

  Tensor operator()(const Tensor& x, ForwardContext& context) const;
  void visit(Visitor& v);
};

}  // namespace qkv
