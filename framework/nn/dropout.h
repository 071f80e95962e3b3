#pragma once

#include "framework/nn/forward_context.h"
#include "framework/nn/module.h"

namespace qkv {

// While training: zero with probability p, else x / (1 - p). Otherwise x itself.
struct Dropout {
  double p = 0.0;

  bool is_active(const ForwardContext& context) const { return context.training && p != 0.0; }
  Tensor operator()(const Tensor& x, ForwardContext& context) const;
};

}  // namespace qkv
