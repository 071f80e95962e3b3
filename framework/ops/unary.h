#pragma once

#include <functional>
#include <string_view>

#include "framework/graph/tensor.h"
#include "framework/kernels/elementwise.h"

// Elementwise functions of one tensor: a kernel computes them, and the gradient is a formula of the
// input, of the output, or of dy alone. Each function is in the file of its name, with its formula.
namespace qkv {

struct UnaryRules {
  // dx; set one of the three. Only the tensors that it takes are kept for backward.
  Tensor (*from_input)(const Tensor& x, const Tensor& dy) = nullptr;
  Tensor (*from_output)(const Tensor& y, const Tensor& dy) = nullptr;
  Tensor (*from_dy)(const Tensor& dy) = nullptr;
  // ẏ = derivative(x, y) ẋ
  Scalar (*derivative)(Scalar x, Scalar y) = nullptr;
};

// x is f32 or f64. `name` must outlive the graph: a literal.
Tensor unary_op(std::string_view name, kernels::Unary kernel, const Tensor& x,
                const UnaryRules& rules);

// Also for x in bf16, and with a kernel for dx; the composed formulas serve second derivatives.
struct ComposedUnary {
  std::function<Tensor(const Tensor& x)> value;       // y
  std::function<Tensor(const Tensor& x)> derivative;  // dx / dy
};
Tensor fused_unary_op(std::string_view name, kernels::Unary kernel, const Tensor& x,
                      const ComposedUnary& composed);

}  // namespace qkv
