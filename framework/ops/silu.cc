//   y = x s,  s = sigmoid(x)           x, y, dy, dx: one shape
//   dx = s (1 + x (1 - s)) dy

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

Tensor derivative_composed(const Tensor& x) {
  const Tensor s = sigmoid(x);
  return s * (1.0 + x * (1.0 - s));
}

}  // namespace

Tensor silu(const Tensor& x) {
  return fused_unary_op("silu", kernels::Unary::silu, x,
                        {.value = [](const Tensor& input) { return input * sigmoid(input); },
                         .derivative = derivative_composed});
}

OpExamples silu_examples() {
  const auto f = [](std::span<const Tensor> x) { return silu(x[0]); };
  return {
      .op = "silu",
      .examples = {{"a matrix", {{Fill::kNormal, {3, 4}}}, f},
                   {"a scalar", {{Fill::kNormal, {}}}, f}},
      .errors = {{"indices", [] { silu(zeros({2}, DType::i64)); },
                  "silu: needs f32, f64 or bf16: x i64[2]"}},
  };
}

}  // namespace qkv
