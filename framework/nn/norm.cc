#include "framework/nn/norm.h"

#include "framework/ops/ops.h"

namespace qkv {

LayerNorm::LayerNorm(Initializer& init, int64_t width, bool with_bias)
    : weight(init.ones({width})), bias(with_bias ? init.zeros({width}) : Tensor()) {}

Tensor LayerNorm::operator()(const Tensor& x) const { return layer_norm(x, weight, bias, epsilon); }

void LayerNorm::visit(Visitor& v) {
  v.parameter("weight", weight);
  v.parameter("bias", bias);
}

RmsNorm::RmsNorm(Initializer& init, int64_t width) : weight(init.ones({width})) {}

Tensor RmsNorm::operator()(const Tensor& x) const { return rms_norm(x, weight, epsilon); }

void RmsNorm::visit(Visitor& v) { v.parameter("weight", weight); }

Tensor Norm::operator()(const Tensor& x) const {
  return std::visit([&](const auto& norm) { return norm(x); }, kind);
}

void Norm::visit(Visitor& v) {
  std::visit([&](auto& norm) { norm.visit(v); }, kind);
}

}  // namespace qkv
