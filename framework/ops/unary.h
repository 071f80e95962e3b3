#pragma once

#include <functional>
#include <string_view>

#include "framework/graph/tensor.h"
#include "framework/kernels/elementwise.h"

// What functions of one number have in common: a kernel computes them element by element, and the
// gradient is a formula of the input, of the output, or of neither. Each stands in the file of its
// name, with its formula.
namespace qkv {

// dx; one of the three. What is not named is not kept for backward.
struct UnaryGradient {
  Tensor (*of_input)(const Tensor& x, const Tensor& dy) = nullptr;
  Tensor (*of_output)(const Tensor& y, const Tensor& dy) = nullptr;
  Tensor (*of_neither)(const Tensor& dy) = nullptr;
};

// x is f32 or f64. `name` must outlive the graph: a literal.
Tensor unary_op(std::string_view name, kernels::Unary kernel, const Tensor& x,
                const UnaryGradient& gradient);

// For x in bf16 as well, and with dx in a kernel of its own; the composed formulas stay behind it.
struct ComposedUnary {
  std::function<Tensor(const Tensor& x)> value;       // y
  std::function<Tensor(const Tensor& x)> derivative;  // dx / dy
};
Tensor fused_unary_op(std::string_view name, kernels::Unary kernel, const Tensor& x,
                      const ComposedUnary& composed);

}  // namespace qkv
