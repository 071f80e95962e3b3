//   y = a / b                          a, b, y, dy: one shape, after broadcasting
//   da = dy / b,  db = -dy / b * y
//   ẏ = (ȧ - y ḃ) / b
//
// As IEEE has it: a division by 0 gives inf or NaN.

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class Div final : public Op, public HasTangent {
 public:
  std::string_view name() const override { return "div"; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::binary(kernels::Binary::div, x[0], x[1], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor &a = saved.input(0), &b = saved.input(1);
    const Tensor da = dy / b;
    return {da, saved.needs(1) ? -(da * (a / b)) : Tensor()};
  }

  Tensor tangent(TensorSpan x, const Tensor& y, TensorSpan x_dot) override {
    return quotient_tangent(x, y, x_dot);
  }
};

}  // namespace

Tensor div(const Tensor& a, const Tensor& b) {
  const Pair pair = broadcast_together("div", a, b);
  return apply<Div>({pair.a, pair.b});
}

Tensor div(const Tensor& x, double divisor) {
  check_floating("div", {"x", x});
  return 1 / Float128(divisor) * x;
}

OpExamples div_examples() { return binary_examples("div", div, Fill::kPositive); }

}  // namespace qkv
