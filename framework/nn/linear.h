#pragma once

#include <memory>

#include "framework/nn/initializer.h"
#include "framework/nn/module.h"
#include "framework/ops/ops.h"

namespace qkv {

// y = x weightᵀ + bias        x [..., in_features] -> y [..., out_features]
struct Linear {
  Tensor weight;  // [out_features, in_features], as in PyTorch
  Tensor bias;    // [out_features]; undefined: none
  // Where products are bf16, the rounded weight; nullptr: they are not.
  std::shared_ptr<RoundedWeight> rounded_weight;
  // Whether y is bf16 as well, where products are: for a y that goes into the next product.
  bool rounds_result = false;

  Linear() = default;
  // The weight is normal with `standard_deviation`, the bias zero; products as `init` says.
  Linear(Initializer& init, int64_t in_features, int64_t out_features, bool with_bias,
         double standard_deviation, bool rounds = false);

  Tensor operator()(const Tensor& x) const { return (*this)(x, weight); }
  // With another's weight: a head that is tied to the token embedding.
  Tensor operator()(const Tensor& x, const Tensor& other_weight) const;
  void visit(Visitor& v);
};

// nullptr where the products of the layers that `init` makes are not bf16.
std::shared_ptr<RoundedWeight> make_rounded_weight(const Initializer& init);

}  // namespace qkv
