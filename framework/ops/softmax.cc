//   y = softmax(x) = exp(x) / sum(exp(x))        x, y, dy, dx: [..., C], sums over C
//   dx = y (dy - sum(y dy))
//   ẏ = y (ẋ - sum(y ẋ))

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

Tensor softmax_backward(const Tensor& y, const Tensor& dy) {
  if (!may_fuse({y, dy})) return softmax_gradient(y, dy);
  Array dx(y.shape(), y.dtype());
  kernels::softmax_backward(y.array(), dy.array(), dx);
  return Tensor(dx);
}

class Softmax final : public Op, public HasTangent {
 public:
  std::string_view name() const override { return "softmax"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::softmax(x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    return {softmax_backward(saved.output(), dy)};
  }

  Tensor tangent(TensorSpan, const Tensor& y, TensorSpan x_dot) override {
    return softmax_gradient(y, x_dot[0]);
  }
};

}  // namespace

Tensor softmax_gradient(const Tensor& y, const Tensor& dy) {
  const Tensor a = factor_of(dy, y), b = factor_of(y, dy);
  return a * factor_of(a, b - sum(a * b, -1, /*keep_axis=*/true));
}

Tensor softmax(const Tensor& x) {
  check_floating("softmax", {"x", x});
  check_axis("softmax", {"x", x}, -1);
  return apply<Softmax>({x});
}

}  // namespace qkv
