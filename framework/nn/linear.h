#pragma once

#include "framework/nn/module.h"
#include "framework/ops/ops.h"

namespace qkv {

// How the linear layers that `init` makes multiply.
LinearOptions linear_options(const Initializer& init);

// y = x weightᵀ + bias        x [..., in_features] -> y [..., out_features]
struct Linear {
  Tensor weight;  // [out_features, in_features], as in PyTorch
  Tensor bias;    // [out_features]; undefined: none
  LinearOptions options;

  Linear() = default;
  // The weight is normal with `standard_deviation`, the bias zero; products as `init` says.
  Linear(Initializer& init, int64_t in_features, int64_t out_features, bool with_bias,
         double standard_deviation);

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v) const;
};

}  // namespace qkv
