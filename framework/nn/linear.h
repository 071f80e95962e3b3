#pragma once

#include "framework/nn/module.h"

namespace qkv {

// y = x weightᵀ + bias        x [..., in_features] -> y [..., out_features]
struct Linear {
  Tensor weight;  // [out_features, in_features], as in PyTorch
  Tensor bias;    // [out_features]; undefined: none

  Linear() = default;
  // The weight is normal with `standard_deviation`, the bias zero.
  Linear(Initializer& init, int64_t in_features, int64_t out_features, bool with_bias,
         double standard_deviation);

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v) const;
};

}  // namespace qkv
