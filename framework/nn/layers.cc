#include "framework/nn/layers.h"

#include "framework/ops/ops.h"
#include "framework/ops/support/bf16.h"

namespace qkv {

Linear::Linear(Initializer& init, int64_t in_features, int64_t out_features, bool with_bias,
               double standard_deviation, bool rounds)
    : weight(init.normal({out_features, in_features}, standard_deviation)),
      bias(with_bias ? init.zeros({out_features}) : Tensor()),
      rounded_weight(make_rounded_weight(init)),
      rounds_result(rounds) {}

Tensor Linear::operator()(const Tensor& x, const Tensor& other_weight) const {
  if (!rounded_weight) return linear(x, other_weight, bias);
  return linear(rounded_operand(x), other_weight, bias,
                {.bf16_result = rounds_result, .rounded_weight = rounded_weight});
}

void Linear::visit(Visitor& v) {
  v.parameter("weight", weight);
  v.parameter("bias", bias);
}

std::shared_ptr<RoundedWeight> make_rounded_weight(const Initializer& init) {
  return init.bf16_products() ? std::make_shared<RoundedWeight>() : nullptr;
}

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

Embedding::Embedding(Initializer& init, int64_t count, int64_t width, double standard_deviation)
    : weight(init.normal({count, width}, standard_deviation)) {}

Tensor Embedding::operator()(const Tensor& index) const { return embedding(weight, index); }

void Embedding::visit(Visitor& v) { v.parameter("weight", weight); }

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

Tensor Dropout::operator()(const Tensor& x, ForwardContext& context) const {
  if (!is_active(context)) return x;
  return dropout(x, p, context.next_stream());
}

Tensor activate(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::kGelu:
      return gelu(x, GeluForm::kErf);
    case Activation::kGeluTanh:
      return gelu(x, GeluForm::kTanh);
    case Activation::kRelu:
      return relu(x);
    case Activation::kReluSquared: {  // So et al. 2021
      const Tensor y = widened(relu(x));
      return y * y;
    }
    case Activation::kSilu:
    case Activation::kSwiglu:
      break;
  }
  return silu(x);
}

Tensor FeedForward::operator()(const Tensor& x, ForwardContext& context) const {
  const bool gated = activation == Activation::kSwiglu;
  const Tensor raised = up(x);                                     // [..., F]
  Tensor hidden = activate(activation, gated ? gate(x) : raised);  // [..., F]
  if (gated) hidden = widened(hidden) * widened(raised);
  note("up", raised);
  note("hidden", hidden);
  return dropout(down(hidden), context);
}

void FeedForward::visit(Visitor& v) {
  v.child(up);
  if (activation == Activation::kSwiglu) v.child(gate);
  v.child(down);
}

}  // namespace qkv
