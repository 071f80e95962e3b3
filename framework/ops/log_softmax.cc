//   y = log(softmax(x)) = x - log(sum(exp(x)))      x, y, dy, dx: [..., C], sums over C
//   dx = dy - exp(y) sum(dy)
//   ẏ = ẋ - sum(exp(y) ẋ)

#include "framework/ops/support/op_kit.h"

namespace qkv {
namespace {

class LogSoftmax final : public Op, public HasTangent {
 public:
  std::string_view name() const override { return "log_softmax"; }
  Saves saves() const override { return Saves::kOutput; }

  Array forward(const Inputs& x) override {
    Array y(x[0].shape(), x[0].dtype());
    kernels::log_softmax(x[0], y);
    return y;
  }

  std::vector<Tensor> backward(const Saved& saved, const Tensor& dy) const override {
    const Tensor y = saved.output();
    if (!may_fuse({y, dy})) return {dy - exp(y) * sum(dy, -1, /*keep_axis=*/true)};
    Array dx(y.shape(), y.dtype());
    kernels::log_softmax_backward(y.array(), dy.array(), dx);
    return {Tensor(dx)};
  }

  Tensor tangent(TensorSpan, const Tensor& y, TensorSpan x_dot) override {
    return x_dot[0] - sum(exp(y) * x_dot[0], -1, /*keep_axis=*/true);
  }
};

}  // namespace

Tensor log_softmax(const Tensor& x) {
  check_floating("log_softmax", {"x", x});
  check_axis("log_softmax", {"x", x}, -1);
  const bool has_largest = x.dim(-1) > 0 && kernels::all_finite(x.array());
  if (!composed_only() || !has_largest) return apply<LogSoftmax>({x});
  const Tensor t = x - max(x.detached(), -1, /*keep_axis=*/true);  // so that exp is at most 1
  return t - log(sum(exp(t), -1, /*keep_axis=*/true));
}

OpExamples log_softmax_examples() {
  const auto f = [](std::span<const Tensor> x) { return log_softmax(x[0]); };
  return {
      .op = "log_softmax",
      .examples = {{"rows of 5", {{Fill::kNormal, {2, 3, 5}}}, f},
                   {"one class", {{Fill::kNormal, {4, 1}}}, f},
                   {"one row", {{Fill::kNormal, {6}}}, f}},
      .errors = {{"a scalar", [] { log_softmax(zeros({})); },
                  "log_softmax: there is no axis -1 in x f32[]"}},
  };
}

}  // namespace qkv
