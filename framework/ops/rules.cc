#include "framework/ops/rules.h"

namespace qkv {

Tensor Superposition::tangent(TensorSpan x, const Tensor& /*y*/, TensorSpan x_dot) {
  std::vector<Tensor> inputs(x_dot.begin(), x_dot.end());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) inputs[i] = zeros(x[i].shape(), x[i].dtype());
  }
  return Tensor(forward(Inputs(inputs)));
}

Tensor product_tangent(Op& op, TensorSpan x, TensorSpan x_dot) {
  Tensor sum;
  for (size_t i = 0; i < 2; ++i) {
    if (!x_dot[i].defined()) continue;
    std::vector<Tensor> inputs(x.begin(), x.end());
    inputs[i] = x_dot[i];
    const Tensor term(op.forward(Inputs(inputs)));
    sum = sum.defined() ? sum + term : term;
  }
  return sum;
}

Tensor quotient_tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) {
  const Tensor &b = x[1], &a_dot = x_dot[0], &b_dot = x_dot[1];
  if (!b_dot.defined()) return a_dot / b;
  return (a_dot.defined() ? a_dot - y * b_dot : -(y * b_dot)) / b;
}

}  // namespace qkv
