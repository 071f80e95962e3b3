#include "framework/nn/projection.h"

#include "framework/ops/ops.h"

namespace qkv {

PartsLinear::PartsLinear(Initializer& init, int64_t parts, int64_t features, bool with_bias,
                         double standard_deviation)
    : weight(init.normal({parts, features / parts, features / parts}, standard_deviation)) {
  if (with_bias) bias = init.zeros({features});
}

Tensor PartsLinear::operator()(const Tensor& x) const {
  const int64_t parts = weight.dim(0), out = weight.dim(1), in = weight.dim(2);
  const Tensor rows = transpose(reshape(x, {-1, parts, in}), 0, 1);   // [H, N, D]
  const Tensor mapped = matmul(rows, weight, {.transpose_b = true});  // [H, N, E]
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end());
  shape.back() = parts * out;
  const Tensor y = reshape(transpose(mapped, 0, 1), shape);  // [..., H E]
  return bias.defined() ? y + bias : y;
}

void PartsLinear::visit(Visitor& v) {
  v.parameter("weight", weight);
  v.parameter("bias", bias);
}

Tensor Projection::operator()(const Tensor& x) const {
  return std::visit([&](const auto& map) { return map(x); }, kind);
}

void Projection::visit(Visitor& v) {
  std::visit([&](auto& map) { map.visit(v); }, kind);
}

}  // namespace qkv
