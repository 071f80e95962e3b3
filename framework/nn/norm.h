#pragma once

#include <variant>

#include "framework/nn/initializer.h"
#include "framework/nn/module.h"

namespace qkv {

// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, over the last axis.
struct LayerNorm {
  Tensor weight;  // [C], starts at 1
  Tensor bias;    // [C], starts at 0; undefined: none
  double epsilon = 1e-5;

  LayerNorm() = default;
  LayerNorm(Initializer& init, int64_t width, bool with_bias);

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v);
};

// y = x / sqrt(mean(x²) + epsilon) * weight, over the last axis.
struct RmsNorm {
  Tensor weight;  // [C], starts at 1
  double epsilon = 1e-5;

  RmsNorm() = default;
  RmsNorm(Initializer& init, int64_t width);

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v);
};

// Either of them.
struct Norm {
  std::variant<LayerNorm, RmsNorm> kind;

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& v);
};

}  // namespace qkv
